"""Mistakes in a suite: each is found at its line and column, with what was found and what is allowed, all at once."""

from __future__ import annotations

import pytest

from tests.suite.samples import mistake, mistakes

SUM = "operator: sum, shape: [4, 5]"


@pytest.mark.parametrize(
    ("entry", "where", "what"),
    [
        ("operator: smu, shape: [4]", "4:16: cases[0].operator", "Did you mean sum?"),
        ("shape: [4]", "4:5: cases[0].operator", "the key operator is missing"),
        ("operator: sum", "4:5: cases[0]", "the key shape is missing"),
        ("operator: sum, shpae: [4], shape: [4]", "4:21: cases[0].shpae", "Did you mean shape?"),
        ("operator: sum, n: 4, shape: [4]", "4:21: cases[0].n", "there is no key 'n' here"),
        ("operator: sum, shape: [4, 1_000]", "4:32: cases[0].shape[1]", "without underscores"),
        ("operator: sum, shape: [4, 1.5]", "4:32: cases[0].shape[1]", "found 1.5; allowed is a whole number"),
        ("operator: sum, shape: [4, true]", "4:32: cases[0].shape[1]", "found true"),
        ("operator: sum, shape: [4, '5']", "4:32: cases[0].shape[1]", "found the text '5'"),
        ("operator: sum, shape: [4, -5]", "4:28: cases[0].shape", "at least 0"),
        ("operator: sum, shape: 4", "4:28: cases[0].shape", "allowed is a list"),
        ("operator: sum, shape: [1, 1, 1, 1, 1, 1, 1, 1, 1]", "4:28: cases[0].shape", "at most 8"),
        ("operator: sum, shape: [[4], [4, x]]", "4:38: cases[0].shape[1][1]", "found the text 'x'"),
        ('operator: sum, shape: ["{n}"]', "4:29: cases[0].shape[0]", "nothing here gives n a value"),
        ('operator: sum, shape: ["{dim}"], dim: 0', "4:29: cases[0].shape[0]", "nothing here gives dim a value"),
        ('operator: sum, shape: ["{n}"], n: {pow2: [1, 99]}', "4:40: cases[0].n", "not a range"),
        ('operator: sum, shape: ["{n}"], n: {pow3: [1, 9]}', "4:40: cases[0].n", "not a range"),
        ('operator: sum, shape: ["{n}"], n: x', "4:40: cases[0].n", "whole number"),
        ('operator: sum, shape: ["{n}"], n: []', "4:40: cases[0].n", "1 to 10,000"),
        (f"{SUM}, dim: 2", "4:41: cases[0].dim", "out of range"),
        (f"{SUM}, dim: [[0], [2]]", "4:47: cases[0].dim[1]", "2 is out of range"),
        (f"{SUM}, dim: al", "4:41: cases[0].dim", "allowed: all, or a number or a list. Did you mean all?"),
        (f"{SUM}, keepdim: yes", "4:45: cases[0].keepdim", "allowed: true, false"),
        (f"{SUM}, layout: transpose", "4:44: cases[0].layout", "Did you mean transposed?"),
        (f"{SUM}, layout: {{stpe: 2}}", "4:45: cases[0].layout.stpe", "Did you mean step?"),
        (f"{SUM}, layout: {{permute: [0, 0]}}", "4:44: cases[0].layout", "is not an order of the dims"),
        (f"{SUM}, layout: {{step: 0}}", "4:44: cases[0].layout", "step must be at least 1"),
        ("operator: sum, shape: [4], layout: transposed", "4:41: cases[0].layout", "a shape of 1 dims"),
        (f"{SUM}, dtype: flaot32", "4:43: cases[0].dtype", "Did you mean float32?"),
        (f"{SUM}, dtype: [int8, float23]", "4:50: cases[0].dtype[1]", "Did you mean float32?"),
        (f"{SUM}, input: nromal", "4:43: cases[0].input", "Did you mean normal?"),
        (f"{SUM}, seed: -1", "4:42: cases[0].seed", "from 0"),
        (f"{SUM}, contenders: []", "4:48: cases[0].contenders", "at least 1"),
        (f"{SUM}, contenders: [numpy, gpubench:niave]", "4:56: cases[0].contenders[1]", "Did you mean gpubench:naive?"),
        (f"{SUM}, contenders: ['; rm']", "4:49: cases[0].contenders[0]", "allowed: gpubench:auto"),
        (f"{SUM}, contenders: [numpy, nmpy]", "4:56: cases[0].contenders[1]", "Did you mean numpy?"),
        (f"{SUM}, peers: [torhc]", "4:44: cases[0].peers[0]", "Did you mean torch?"),
        (f"{SUM}, timing: {{ronds: 3}}", "4:45: cases[0].timing.ronds", "Did you mean rounds?"),
        (f"{SUM}, timing: {{rounds: 0}}", "4:53: cases[0].timing.rounds", "from 1 to 1000"),
        (f"{SUM}, timing: {{min_samples: 5000}}", "4:44: cases[0].timing", "is above max_samples"),
        (f"{SUM}, timeout: 1:30", "4:45: cases[0].timeout", "found the text '1:30'; allowed is a number"),
        (f"{SUM}, timeout: -1", "4:45: cases[0].timeout", "from 0.001"),
        ("operator: sum, zip: {shape: [[1], [2]], dim: [0]}", "4:26: cases[0].zip", "shape 2, dim 1"),
        ("operator: sum, shape: [4], zip: [1]", "4:38: cases[0].zip", "a mapping of keys to lists"),
        ("operator: sum, zip: {shape: 3}", "4:34: cases[0].zip.shape", "under zip stands a list of values"),
        (f"{SUM}, zip: {{shape: [[1]]}}", "4:42: cases[0].zip.shape", "write it once"),
        (f"{SUM}, zip: {{contenders: [[numpy]]}}", "4:42: cases[0].zip.contenders", "cannot stand under zip"),
        ("operator: elementwise, function: ad, shape: [4]", "4:39: cases[0].function", "Did you mean add?"),
        (
            "operator: elementwise, function: add, inputs: [{shape: [4]}, {shape: [5]}]",
            "4:52: cases[0].inputs",
            "broadcast",
        ),
        (
            "operator: elementwise, function: add, inputs: [{shape: [4]}, {shape: [4], dtpye: int8}]",
            "4:80: cases[0].inputs[1].dtpye",
            "Did you mean dtype?",
        ),
        (
            "operator: index_add, shape: [4], indices: 4, pattern: zpif",
            "4:60: cases[0].pattern",
            "or {below: ...} or {duplicates: ...}",
        ),
        (
            "operator: index_add, shape: [4], indices: 4, pattern: {below: 2, duplicates: 2}",
            "4:71: cases[0].pattern.duplicates",
            "does not go with",
        ),
        ("operator: index_add, shape: [4], indices: 4, pattern: zpif", "4:60: cases[0].pattern", "Did you mean zipf?"),
        (
            "operator: index_add, shape: [4], indices: 4, alpha: '2'",
            "4:58: cases[0].alpha",
            "found the text '2'; allowed is a number",
        ),
    ],
)
def test_a_mistake_is_found_at_its_place(entry: str, where: str, what: str) -> None:
    """Line, column and key path point at the value (or the key) at fault; the message helps."""
    found = mistake(entry)
    assert found.startswith(f"{where}: ")
    assert what in found


@pytest.mark.parametrize(
    ("head", "where", "what"),
    [
        ("nmae: x", "2:1: nmae", "Did you mean name?"),
        ("defaults: {dtpye: int8}", "2:12: defaults.dtpye", "Did you mean dtype?"),
        ("defaults: {shape: [4]}", "2:12: defaults.shape", "there is no key"),
        ("defaults: {seed: x}", "2:18: defaults.seed", "whole number"),
        ("defaults: 1", "2:11: defaults", "allowed is a mapping"),
        ("peers: torch", "2:8: peers", "allowed is a list"),
        ("description: [1]", "2:14: description", "allowed is text"),
    ],
)
def test_mistakes_outside_the_cases(head: str, where: str, what: str) -> None:
    """The outermost keys and the defaults are held to the same rules."""
    found = mistake("operator: sum, shape: [4]", head)
    assert found.startswith(f"{where}: ")
    assert what in found


def test_all_mistakes_come_at_once_in_order() -> None:
    """Refused YAML, unknown keys, wrong values and senseless values of one file are reported together, top down."""
    found = mistakes(
        """name: [x]
bogus: 1
defaults: {dtype: floot32}
cases:
  - {operator: cumsun, shape: [1]}
  - {operator: cumsum, shape: &a [1]}
  - {operator: cumsum, shape: *a, dim: x, dmi: 1, contenders: [gpubench:x]}
  - {operator: cumsum, shape: [4], dim: 3}
  - {operator: cumsum, shape: [5], shape: [6]}
  - 7
"""
    )
    places = [line.split(": ", 1)[0] for line in found]
    assert places == [f"test.yaml:{place}" for place in (
        "1:7", "2:1", "3:19", "5:16", "6:31", "7:31", "7:40", "7:43", "7:64", "8:41", "9:36", "10:5"
    )]  # fmt: skip


def test_one_mistake_does_not_hide_another_of_the_same_case() -> None:
    """Each key of a case is looked into whatever is wrong with the others; a wrong entry repeats no case."""
    found = mistakes(
        """name: x
cases:
  - {operator: cumsum, shape: [3, 4], dim: 7, dtype: flaot32, layout: {permute: [0]}, timing: {rounds: 0},
     contenders: [gpubench:niave, nmpy, gpubench:nothing]}
  - {operator: index_add, shape: [5], indices: 3, dim: 2, pattern: {below: 40}, alpha: 0.5, dtype: int32}
  - {operator: index_add, shape: [5], indices: 3, pattern: {below: 40}, alpha: 0.5, dtype: int32}
  - {operator: sum, shape: [6], input: nromal}
  - {operator: sum, shape: [6]}
"""
    )
    places = [line.split(": ", 1)[0] for line in found]
    assert places == [f"test.yaml:{place}" for place in (
        "3:44", "3:54", "3:71", "3:104", "4:19", "4:35", "4:41", "5:56", "5:76", "5:88", "6:68", "6:80", "7:40"
    )]  # fmt: skip


def test_a_refused_value_causes_no_further_mistakes() -> None:
    """What stands below a refused alias or tag is not complained about again."""
    assert len(mistakes("name: x\ncases:\n  - {operator: sum, shape: !t [a, b, [c]], dim: *x}\n")) == 2


def test_every_mistake_of_an_axis_is_told_once() -> None:
    """A senseless value on one axis is one mistake, however many cases it would have been in."""
    found = mistake("operator: cumsum, shape: [[4, 5], [6, 7]], dim: [5, 0, 1], dtype: [float32, int8, int16]")
    assert "4:55: cases[0].dim[0]" in found


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("pattern: {file: 3}", "there is no key 'file' here. Allowed: below, duplicates, out_of_range."),
        ("pattern: {belov: 3}", "there is no key 'belov' here. Did you mean below?"),
        ("pattern: {duplicats: 3}", "there is no key 'duplicats' here. Did you mean duplicates?"),
        ("pattern: {below: 3, bellow: 4}", "there is no key 'bellow' here. Did you mean below?"),
    ],
)
def test_a_mapping_with_several_readings_is_told_by_the_nearest(written: str, told: str) -> None:
    """Its own keys are named, of the reading that comes nearest, never those of another mapping."""
    assert told in mistake(f"operator: index_add, shape: [8], indices: 3, {written}")
