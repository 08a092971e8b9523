"""The error tree. Every error that a user can meet is a `GpubenchError`; `gpubench.cli` makes exit codes of them.

GpubenchError                 2  (the exit code of each class stands on the right)
+-- UsageError                2  a wrong argument, a missing file, a filter that matches nothing
|   +-- SuiteError            2  a suite that cannot be read; carries every `Mistake` found, with its place
|   +-- MissingExtraError     2  an optional package is needed; names the extra to install
|   +-- NoDeviceError         2  no GPU (or no compiler for the host device)
|   +-- ResultFileError       2  a result file that cannot be read
|   +-- ParameterError        2  a value in a suite that makes no sense; names its field
+-- ComparisonError           3  nothing compared, too little data, or results that must not be compared
+-- CompileError              2  a kernel that does not compile (status `compile_error` inside a run)
+-- UnsupportedError          2  an operator or variant that does not take this case (status `unsupported`)
+-- TooSlowError              5  work of which one run takes longer than was allowed (status `timeout`)
+-- DeviceError               5  the device reported an error
    +-- FatalDeviceError      5  ... after which the process can no longer use the device
    +-- OutOfMemoryError      5  an allocation was refused; the process can go on
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gpubench.extras import install_command


class ExitCode(IntEnum):
    """What the process returns to the shell."""

    FINE = 0
    REGRESSION = 1
    USAGE = 2
    NOT_COMPARABLE = 3
    WRONG_ANSWER = 4
    FAILED_CASE = 5
    INTERRUPTED = 130


class GpubenchError(Exception):
    """Base of every error that gpubench raises on purpose. The message is one or more plain sentences."""

    exit_code: ExitCode = ExitCode.USAGE

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what the error is, not how it was made: a process that compiles raises it in another one."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[GpubenchError], args: tuple[object, ...], state: dict[str, object]) -> GpubenchError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class UsageError(GpubenchError):
    """The command was asked for something that does not exist or makes no sense."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake in a suite: where it stands, what was found and what is allowed."""

    file: str
    line: int
    column: int
    path: str
    message: str

    def __str__(self) -> str:
        """Render as `file:line:column: key.path: message`."""
        where = f"{self.file}:{self.line}:{self.column}"
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class SuiteError(UsageError):
    """A suite that cannot be read. All mistakes found are in `problems`."""

    def __init__(self, problems: list[Mistake]) -> None:
        """Keep every problem; the message lists them, one a line."""
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class ParameterError(UsageError):
    """A value that a suite gave for `field` makes no sense; the message says what was found and what is allowed."""

    def __init__(self, field: str, message: str) -> None:
        """Keep the field, so that the reader of the suite can point at its line."""
        self.field = field
        super().__init__(f"{field}: {message}")


class MissingExtraError(UsageError):
    """An optional package is missing, or there and broken."""

    def __init__(self, package: str, extra: str, broken: str | None = None) -> None:
        """Name the package and the extra that brings it. `broken`: why it cannot be loaded, though it is there."""
        state = "is not installed. Install it" if broken is None else f"cannot be loaded ({broken}). Install it anew"
        super().__init__(f"{package} {state} with: {install_command(extra)}")


class NoDeviceError(UsageError):
    """There is no device of the kind asked for."""


class ResultFileError(UsageError):
    """A result file that cannot be read or written."""


class ComparisonError(GpubenchError):
    """Nothing was compared, or the two results must not be compared."""

    exit_code = ExitCode.NOT_COMPARABLE


class CompileError(GpubenchError):
    """A kernel that does not compile. The message holds the first errors against the project's own lines."""


class UnsupportedError(GpubenchError):
    """An operator, variant or peer does not take this case. The message is the reason."""


class TooSlowError(GpubenchError):
    """One run took longer than the limit of a call. Nothing is lost, and nobody else is concerned."""

    exit_code = ExitCode.FAILED_CASE


class DeviceError(GpubenchError):
    """The device reported an error. `code` is the CUDA driver's number, None where there is none."""

    exit_code = ExitCode.FAILED_CASE

    def __init__(self, message: str, code: int | None = None) -> None:
        """Keep the driver's code beside the message."""
        self.code = code
        super().__init__(message)


class FatalDeviceError(DeviceError):
    """The device's context is lost: only a new process can go on. `contender`: who was at work, once that is known."""

    contender = ""


class OutOfMemoryError(DeviceError):
    """An allocation on the device (or on the host) was refused. Nothing is lost."""
