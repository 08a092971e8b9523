"""One contender of one case, once: for a profiler or a debugger that starts this process and wants nothing else in it.

Started as `python -m gpubench.engine.once JOB`, a JSON file with `case`, `contender`, `device` and `staged`. No ceiling
is measured, no cache flushed, no stream held and no kernel of the harness launched. Exits with 0 for a right answer, 4
for a wrong one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpubench.errors import ExitCode, GpubenchError
from gpubench.results.records import case_from_json
from gpubench.results.strict import Node

if TYPE_CHECKING:
    from gpubench.devices.base import Device
    from gpubench.model import Case


def main(arguments: Sequence[str]) -> int:
    """Run the job in the file of this name; say on standard error what became of it."""
    from gpubench.devices import open_device
    from gpubench.kernels.nvrtc import LINES
    from gpubench.own.registry import register, staged_from_json

    os.environ.setdefault(LINES, "1")  # so that the tool can name lines
    job = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    try:
        register(staged_from_json(suite) for suite in job["staged"])
        device = open_device(job["device"])
        said, code = _run(device, case_from_json(Node(job["case"], "job", "case")), job["contender"])
    except GpubenchError as error:
        said, code = str(error), error.exit_code
    sys.stderr.write(f"{job['case']['id']} {job['contender']}: {said}\n")
    return int(code)


def _run(device: Device, case: Case, contender: str) -> tuple[str, ExitCode]:
    """Run it, and say whether the answer is right."""
    from gpubench.engine.buffers import Operands, Pristine
    from gpubench.engine.contenders import resolve
    from gpubench.engine.outcome import where
    from gpubench.measure.check import check
    from gpubench.operators import operator as find_operator

    operator = find_operator(case.operator)
    problem = operator.problem(case)
    runner = resolve(contender, operator, problem, device)
    runner.compile()
    inputs = operator.inputs(problem)
    operands = Operands(device, problem, Pristine(device, problem, inputs, False), *runner.workspace)
    run = runner.bind(operands)
    operands.restore()
    device.synchronize()
    run()
    runner.collect()
    verdict = check(problem, operator.reference(problem, inputs), runner.accuracy, operands.output())
    return ("right", ExitCode.FINE) if verdict.ok else (where(verdict), ExitCode.WRONG_ANSWER)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
