"""The entry point of the `gpubench` command and of `python -m gpubench`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave the process with its exit code. An interrupt while modules load is 130 too."""
    try:
        from gpubench.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
