"""The command line: one file a command. `main` is the only place where an error becomes an exit code.

A command takes its click context from the lazy group below, returns None or an `ExitCode`, and raises `GpubenchError`
for everything that a user can meet.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import click

from gpubench import __version__
from gpubench.cli import output
from gpubench.errors import ExitCode, GpubenchError, SuiteError

BROKEN_PIPE = 141
"""What a shell reports for a program that the reader of its output left (128 + SIGPIPE); no word is said."""

EXIT_CODES = """\b
Exit codes (each command's help has its own):
  0    fine
  1    a regression (compare, ab)
  2    bad usage or input
  3    nothing measured or compared, not enough data, or results that must not be compared
  4    a kernel's answer is wrong
  5    some case crashed, hung or ran out of memory; an unexpected error
  130  interrupted
"""

USAGE = {2: "bad usage or input"}
NOT_COMPARABLE = {3: "the two results must not be compared, or have nothing in common"}


def exit_codes(meanings: Mapping[int, str]) -> str:
    """Return the end of a command's help: its own exit codes, and those that any command may end with."""
    told = {0: "fine", **USAGE, 5: "an unexpected error", 130: "interrupted", **meanings}
    return "\b\nExit codes:\n" + "\n".join(f"  {code:<4} {told[code]}" for code in sorted(told))


class Entry(NamedTuple):
    """Where a command lives (`module:attribute`), and its line in `gpubench --help`, read without importing it."""

    target: str
    summary: str
    codes: Mapping[int, str] = MappingProxyType({})
    """What the command's own exit codes mean, where its module does not say it."""


COMMANDS: dict[str, Entry] = {
    "run": Entry("gpubench.cli.run:command", "Run suites on a device, check the answers and record every sample."),
    "profile": Entry("gpubench.cli.profile:command", "Run one case once under ncu, nsys or another tool."),
    "list": Entry("gpubench.cli.list_:command", "Show the cases of suites with the bytes and memory they need."),
    "compile": Entry(
        "gpubench.cli.compile:command",
        "Compile all kernels, or those of suites; needs no GPU.",
        {2: "a kernel does not compile, or bad usage"},
    ),
    "new": Entry("gpubench.cli.new:command", "Write a working kernel, operator or suite to start from."),
    "trust": Entry("gpubench.cli.trust:command", "Let suites run the kernels and the code that they bring."),
    "schema": Entry("gpubench.cli.schema:command", "Print the JSON Schema of suites, for editors."),
    "devices": Entry("gpubench.cli.devices:command", "List the devices with their figures."),
    "show": Entry("gpubench.cli.show:command", "Print the table of a result file again."),
    "compare": Entry("gpubench.cli.compare:command", "Compare results: faster, slower, same or undecided."),
    "baseline": Entry("gpubench.cli.baseline:command", "Save and list named results to compare with."),
    "calibrate": Entry(
        "gpubench.cli.calibrate:command",
        "Measure the noise floor of each case by repeated runs.",
        {4: "a kernel's answer is wrong", 5: "some case crashed, hung or ran out of memory; an unexpected error"},
    ),
    "ab": Entry("gpubench.cli.ab:command", "Run two contenders interleaved and tell which is faster."),
    "explore": Entry("gpubench.cli.explore:command", "Draw cases and find the regions in which a contender loses."),
    "tune": Entry("gpubench.cli.tune:command", "Find the best constants of the kernels for this GPU."),
    "plan": Entry("gpubench.cli.plan:command", "Say how many rounds would show a change, and what they take."),
    "plot": Entry("gpubench.cli.plot:command", "Draw charts of results.", NOT_COMPARABLE),
    "history": Entry(
        "gpubench.cli.history:command", "Follow times over many results: draw, find steps, gate, publish."
    ),
    "results": Entry("gpubench.cli.results:command", "Make results small enough to be kept in git."),
    "export": Entry("gpubench.cli.export:command", "Write a result in the format of another program."),
    "report": Entry("gpubench.cli.report:command", "Write one self-contained HTML report of a result.", NOT_COMPARABLE),
    "fleet": Entry("gpubench.cli.fleet:command", "Judge the GPUs of a fleet: which is slow, and which is wrong."),
    "agreement": Entry(
        "gpubench.cli.agreement:command",
        "Show how events, CUPTI and NVBench agree on this GPU.",
        {5: "the GPU failed; an unexpected error"},
    ),
    "check": Entry("gpubench.cli.check:command", "Check the kernels' answers without timing them."),
    "doctor": Entry("gpubench.cli.doctor:command", "Say what this machine can do, and what is missing."),
}


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, None when there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name].target} is not a click command")
        below = command.commands.values() if isinstance(command, click.Group) else ()
        for named in (command, *below):
            if named.epilog is None:
                named.epilog = exit_codes(COMMANDS[cmd_name].codes)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that does not exist is answered with the nearest ones."""
        name = args[0]
        if not name.startswith("-") and name not in self.list_commands(ctx) and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, self.list_commands(ctx), n=3)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands from the table alone."""
        rows = [(name, COMMANDS[name].summary) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@click.group(
    cls=LazyGroup,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="gpubench", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, envvar="GPUBENCH_DEBUG", help="Show the traceback of an error.")
def root(debug: bool) -> None:
    """Time memory-bound GPU kernels, check their answers, record, compare and plot."""
    del debug  # read by `main`


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line on `arguments` (those of the process) and return the exit code. Never raises."""
    debug = False
    try:
        output.prepare()
        given = list(sys.argv[1:] if arguments is None else arguments)
        debug = bool(os.environ.get("GPUBENCH_DEBUG")) or "--debug" in given[:1]
        code = _invoke(given)
        sys.stdout.flush()
    except BaseException as error:  # the one exit point: whatever it is becomes a code and a sentence
        if debug and not isinstance(error, click.exceptions.Exit | SystemExit | BrokenPipeError):
            traceback.print_exc()
        code = _explain(error)
    output.leave_errors()
    return code


def _invoke(arguments: list[str]) -> int:
    if "_GPUBENCH_COMPLETE" in os.environ:
        root.main(arguments, prog_name="gpubench")  # click answers the shell and exits by itself
    with root.make_context("gpubench", arguments) as context:
        value = root.invoke(context)
    return int(value) if isinstance(value, int) else int(ExitCode.FINE)


def _explain(error: BaseException) -> int:
    """Say what happened on standard error and return the exit code."""
    match error:
        case click.exceptions.Exit():
            return _finish(error.exit_code)
        case SystemExit():
            return _finish(error.code if isinstance(error.code, int) else int(ExitCode.FINE))
        case click.exceptions.NoArgsIsHelpError():
            output.report(error.format_message())
            return ExitCode.USAGE
        case BrokenPipeError() if output.reader_is_gone():
            output.discard_output()
            return BROKEN_PIPE
        case OSError() if error.filename is None:
            output.discard_output()  # standard output itself may be what failed, a full disk for example
    message, code = _describe(error)
    output.report(f"gpubench: {message}")
    return int(code)


def _describe(error: BaseException) -> tuple[str, ExitCode]:
    match error:
        case click.Abort() | KeyboardInterrupt() | EOFError():
            return "interrupted", ExitCode.INTERRUPTED
        case click.ClickException():
            return _usage_message(error), ExitCode.USAGE
        case SuiteError():
            count = len(error.problems)
            return f"{count} mistake{'s' * (count != 1)} in the suite:\n{error}", error.exit_code
        case GpubenchError():
            return str(error), error.exit_code
        case OSError() if error.filename is not None:
            name = error.filename if isinstance(error.filename, int) else os.fsdecode(error.filename)
            return f"cannot use {name}: {error.strerror}", ExitCode.USAGE
        case OSError():
            return f"cannot write the output or reach the system: {error.strerror or error}", ExitCode.FAILED_CASE
        case MemoryError():
            return "out of memory on the host. Use smaller cases, or run fewer at once.", ExitCode.FAILED_CASE
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = "This is a defect of gpubench: `gpubench --debug ...` shows where it happened."
    return f"unexpected error: {what}\n{hint}", ExitCode.FAILED_CASE


def _finish(code: int) -> int:
    """Flush what a command printed before it asked to exit; a failure to print wins over its code."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _explain(error)
    return code


def _usage_message(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    hint = f"\nTry '{context.command_path} --help'." if isinstance(context, click.Context) else ""
    return error.format_message() + hint
