"""The entry point of the `gpubench` command and of `python -m gpubench`."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def end_now(number: int, frame: FrameType | None) -> None:
    """End while modules load: an exception inside a module that loads could come out as any other."""
    del number, frame
    os.write(2, b"gpubench: interrupted\n")
    os._exit(INTERRUPTED)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Let a command give back what it holds; `cli.main` says the sentence."""
    del number, frame
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line and leave the process with its exit code. An interrupt at any moment is 130.

    A signal that is ignored (`nohup`, a job in the background) stays ignored.
    """
    heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    for number in heard:
        signal.signal(number, end_now)
    from gpubench.cli import main as run

    try:
        for number in heard:
            signal.signal(number, interrupt)
        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    for number in heard:
        signal.signal(number, end_now)
    sys.exit(code)


if __name__ == "__main__":
    main()
