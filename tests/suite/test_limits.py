"""Limits in a suite: read strictly, kept in the record, judged once, and a missed one fails the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpubench.errors import SuiteError
from gpubench.limits import keeps, missed, parse
from gpubench.model import Case, Record
from gpubench.names import Status
from gpubench.suite.expand import expand

SUITE = 'name: l\ndefaults: {{limits: {{median_us: "<= 40"}}}}\ncases:\n  - {{operator: sum, shape: [4]{more}}}\n'


def cases(more: str = "") -> tuple[Case, ...]:
    """Return the cases of a suite with limits among its defaults."""
    return expand(SUITE.format(more=more).encode(), "l.yaml").cases


def record(contender: str = "gpubench:auto", status: Status = "ok", simulated: bool = False, **summary: Any) -> Record:
    """Return a record of a case with two limits."""
    case = Case("c", "sum", "float32", {}, limits={"median_us": "<= 40", "of_ceiling": ">= 90%"})
    return Record(case, contender, status, None, 4, simulated, summary=summary or None)


def test_limits_of_a_case_replace_those_of_the_defaults_key_by_key() -> None:
    """A case adds to the defaults' limits, and its own word wins; the id does not change."""
    (one,) = cases(', limits: {median_us: "< 30", of_ceiling: ">= 0.9"}')
    assert one.limits == {"median_us": "< 30", "of_ceiling": ">= 0.9"}
    assert cases()[0].limits == {"median_us": "<= 40"}
    assert one.id == cases()[0].id


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('{median_us: "= 40"}', "allowed is a limit such as"),
        ("{median_us: 40}", "allowed is a limit such as"),
        ('{mean_us: "<= 40"}', "Did you mean median_us?"),
        ('{of_ceiling: ">= 0.9; import os"}', "allowed is a limit such as"),
        ('{GBps: ">= 1e9999"}', "allowed is a limit such as"),
    ],
)
def test_what_is_no_limit_is_a_mistake_with_its_place(written: str, told: str) -> None:
    """An unknown metric or another form is told with line and column, and what is allowed."""
    with pytest.raises(SuiteError, match=r"l\.yaml:4:") as caught:
        cases(f", limits: {written}")
    assert told in str(caught.value)


def test_signs_and_percentages_mean_what_they_say() -> None:
    """At the bound <= and >= keep, < and > do not; 90% is 0.9."""
    assert parse(" >=  90 % ") == (">=", 0.9)
    assert [keeps(40.0, f"{sign} 40") for sign in ("<=", ">=", "<", ">")] == [True, True, False, False]
    with pytest.raises(ValueError, match="is no limit"):
        keeps(1.0, "40")


def test_each_limit_is_judged_for_each_kernel() -> None:
    """A missed limit is told with what was found; another library and a simulated time are not judged."""
    good: dict[str, Any] = {"median_us": 39.0, "fraction_of_ceiling": 0.95}
    slow: dict[str, Any] = {"median_us": 50.0, "fraction_of_ceiling": 0.95}
    assert missed([record(**good)]) == []
    assert [str(miss) for miss in missed([record(**slow)])] == ["c gpubench:auto: median_us is 50, wanted <= 40"]
    assert missed([record(**good), record("torch", **slow), record("own:mine", simulated=True, **slow)]) == []
    assert [miss.contender for miss in missed([record(**good), record("own:mine", **slow)])] == ["own:mine"]


def test_a_figure_that_was_not_measured_is_missed() -> None:
    """No ceiling, or no contender measured at all, fails: a gate must not pass because nothing ran."""
    assert [(miss.metric, miss.value) for miss in missed([record(median_us=3.0)])] == [("of_ceiling", None)]
    nobody = missed([record(status="skipped"), record("gpubench:naive", "unsupported")])
    assert [(miss.contender, miss.metric) for miss in nobody] == [("nobody", "median_us"), ("nobody", "of_ceiling")]
    assert (
        missed([record(status="unsupported"), record("gpubench:naive", median_us=3.0, fraction_of_ceiling=1.0)]) == []
    )


def test_a_limit_can_name_its_contenders() -> None:
    """`contenders` among the limits says who is held to them, by patterns, libraries too."""
    case = Case("c", "sum", "float32", {}, limits={"median_us": "<= 4", "contenders": ["torch", "gpubench:a*"]})
    slow = {"median_us": 50.0}
    records = [Record(case, name, "ok", None, 4, summary=slow) for name in ("torch", "gpubench:auto", "gpubench:naive")]
    assert [miss.contender for miss in missed(records)] == ["torch", "gpubench:auto"]


def test_a_missed_limit_ends_a_run_with_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The command says which limit was missed and by whom; the result file keeps the limits."""
    import json

    from gpubench.cli import main
    from tests.engine.bed import script

    suite = tmp_path / "l.yaml"
    text = (
        "name: l\ncases: [{operator: sum, shape: [4], contenders: ['gpubench:naive'], limits: {median_us: '<= LIMIT'}}]"
    )
    device = script(tmp_path, info={"simulated": False}, times=[{"us": 20.0}])
    result = str(tmp_path / "r.json")
    for limit, code in (("30", 0), ("10", 1)):
        suite.write_text(text.replace("LIMIT", limit))
        assert main(["run", str(suite), "--device", device, "-o", result]) == code
    assert "limit missed: sum/4/dim=all/float32 gpubench:naive: median_us is 20, wanted <= 10" in capfd.readouterr().out
    assert json.loads(Path(result).read_text())["records"][0]["case"]["limits"] == {"median_us": "<= 10"}
