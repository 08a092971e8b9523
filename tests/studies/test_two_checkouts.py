"""Two checkouts held against each other: whose launches differ, and what is said of the times."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gpubench.errors import UsageError
from gpubench.kernels.sources import SECOND_PREFIX
from gpubench.operators import OPERATORS
from studies.two_checkouts import Changed, Compared, Side, changed, report
from tests.operators.cases import DEVICE, make_case

ROOT = Path(__file__).resolve().parents[2]
PAIRS = make_case("cumsum", "float16", shape=[14336, 512, 4], dim=1)
ROWS = make_case("cumsum", "float32", shape=[300, 40], dim=1)
HERE = Side(ROOT, {})
TOLD = Side(ROOT, {"SIDES_LEAST": 1 << 40})


def test_a_checkout_differs_from_itself_in_nothing() -> None:
    """Equal launches need no timing, machine code included."""
    assert list(changed([PAIRS, ROWS], HERE, HERE, DEVICE, 0)) == []


def test_other_constants_change_the_plans_that_read_them() -> None:
    """The case that they are for, and not the other; one checkout has one tree of kernels."""
    [found] = changed([ROWS, PAIRS], HERE, TOLD, DEVICE, 0)
    assert (found.case, found.old.variant, found.new.variant) == (PAIRS, "block_rows", "walked_lines")
    assert not any(launch.source.startswith(SECOND_PREFIX) for launch in (*found.old.launches, *found.new.launches))


def test_other_machine_code_is_a_change_of_every_case_that_runs_it(tmp_path: Path) -> None:
    """The same plan by a kernel whose text computes something else."""
    (tmp_path / "gpubench").symlink_to(ROOT / "gpubench")
    shutil.copytree(ROOT / "cuda_src", tmp_path / "cuda_src")
    kernel = tmp_path / "cuda_src" / "cumsum" / "lanes_rows.cu"
    text = kernel.read_text(encoding="utf-8")
    kernel.write_text(text.replace("scan_items<N>(items, Add{});", ""), encoding="utf-8")
    found = list(changed([PAIRS, ROWS], HERE, Side(tmp_path, {}), DEVICE, 0))
    assert [each.case for each in found] == [ROWS]
    assert all(launch.source.startswith(SECOND_PREFIX) for each in found for launch in each.old.launches)
    assert not any(launch.source.startswith(SECOND_PREFIX) for each in found for launch in each.new.launches)


def test_a_folder_that_is_no_checkout_is_named(tmp_path: Path) -> None:
    """The package that cannot be imported is an error in one line, with what Python said last."""
    (tmp_path / "gpubench").mkdir()
    (tmp_path / "gpubench" / "__init__.py").write_text("raise ImportError('no such thing')\n", encoding="utf-8")
    with pytest.raises(UsageError, match=f"{tmp_path} made no plans: .*no such thing"):
        list(changed([ROWS], Side(tmp_path, {}), HERE, DEVICE, None))


def test_the_report_has_the_mean_and_both_ends() -> None:
    """The geometric mean of old / new, by pairs of variants where there are several, and what has other bits."""
    plan = OPERATORS["cumsum"].choose(OPERATORS["cumsum"].problem(ROWS), DEVICE)
    found = Changed(ROWS, plan, plan)  # type: ignore[arg-type] # a plan, no refusal
    other = Changed(ROWS, replace(plan, variant="naive"), plan)  # type: ignore[arg-type]
    lines = list(report([Compared(found, 8.0, 2.0, True), Compared(other, 1.0, 1.0, False)], 1))
    assert lines[0] == "old / new: 2.0000 over 2 cases; the same bits in 1"
    assert lines[1].strip() == "lanes_rows -> lanes_rows: 4.0000 over 1"
    assert lines[2].strip() == "naive -> lanes_rows: 1.0000 over 1"
    assert lines[3].split()[0] == "1.000"
    assert lines[3].endswith("OTHER BITS")
    assert lines[4].split()[0] == "4.000"
    assert list(report([], 1)) == []
