"""Hypothesis strategies for records and result sets, as wide as the format allows."""

from __future__ import annotations

from typing import get_args, get_type_hints

from hypothesis import strategies as st

from gpubench.model import (
    Case,
    Ceiling,
    CeilingPoint,
    CeilingRound,
    Check,
    Distribution,
    Harness,
    Json,
    Method,
    Phase,
    Record,
    ResultSet,
    Revision,
    Sample,
    Source,
    Status,
    Timing,
    TimingOptions,
)
from gpubench.results.format import TOP_KEYS, with_sample_clocks

names = st.text(max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
not_negative = st.floats(min_value=0, allow_infinity=False)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | finite | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(names, plain, max_size=3)

options = st.builds(
    TimingOptions,
    method=st.sampled_from(get_args(Method)),
    rounds=st.integers(1, 9),
    min_samples=st.integers(1, 99),
    max_samples=st.integers(1, 99),
    max_noise=st.floats(0, 1),
    time_limit_s=st.floats(0, 1e6),
    timeout_s=positive,
    order=st.sampled_from(get_args(get_type_hints(TimingOptions)["order"])),
    least_rounds=st.integers(0, 9),
)
cases = st.builds(
    Case,
    id=names,
    operator=names,
    dtype=names,
    params=objects,
    distribution=st.sampled_from(get_args(Distribution)),
    seed=st.integers(-(2**63), 2**63),
    limits=st.sampled_from(
        [{}, {"median_us": "<= 40", "of_ceiling": ">= 90%"}, {"GBps": "> 3", "contenders": ["torch"]}]
    ),
    contenders=st.lists(names, max_size=3).map(tuple),
    timing=options,
)
samples = st.builds(Sample, us=positive, sm_mhz=st.none() | not_negative)


@st.composite
def timings(draw: st.DrawFn) -> Timing:
    """Draw timings whose discarded samples belong to rounds that exist."""
    rounds = draw(st.lists(st.lists(samples, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple))
    owners = st.integers(0, len(rounds) - 1)
    discarded = draw(st.lists(st.tuples(owners, samples), max_size=3).map(tuple))
    return Timing(rounds, discarded, draw(st.booleans()), draw(st.booleans()), draw(st.none() | names))


checks = st.builds(
    Check,
    ok=st.booleans(),
    max_error=st.none() | not_negative,
    max_error_over_tolerance=st.none() | not_negative,
    first_mismatch=st.none() | objects,
    mismatches=st.none() | objects,
    stray_writes=st.lists(objects, max_size=2).map(tuple),
)
records = st.builds(
    Record,
    case=cases,
    contender=names,
    status=st.sampled_from(get_args(Status)),
    message=st.none() | names,
    bytes=st.none() | st.integers(0, 2**60),
    simulated=st.booleans(),
    timing=st.none() | timings(),
    summary=st.none() | objects,
    check=st.none() | checks,
    kernel=st.none() | objects,
    telemetry=st.none() | objects.filter(lambda found: not {"sm_mhz", "discarded_sm_mhz"} & set(found)),
).map(with_sample_clocks)
points = st.builds(
    CeilingPoint,
    bytes=st.integers(1, 2**40),
    copy_us=positive,
    read_us=positive,
    write_us=positive,
    copy_by=st.none() | names,
    read_by=st.none() | names,
    write_by=st.none() | names,
)
ceilings = st.builds(
    Ceiling,
    copy_GBps=st.none() | not_negative,
    read_GBps=st.none() | not_negative,
    write_GBps=st.none() | not_negative,
    launch_us=st.none() | not_negative,
    event_overhead_us=st.none() | not_negative,
    launch_overhead_us=st.none() | not_negative,
    sweep=st.lists(points, max_size=2).map(tuple),
    rounds=st.lists(
        st.builds(
            CeilingRound,
            phase=st.sampled_from(get_args(Phase)),
            launch_us=st.none() | not_negative,
            event_overhead_us=st.none() | not_negative,
            sweep=st.lists(points, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
)
harnesses = st.builds(Harness, protocol=st.integers(1, 99), code_sha256=st.none() | names)
revisions = st.builds(Revision, commit=st.none() | names, dirty=st.none() | st.booleans(), branch=st.none() | names)
sources = st.builds(Source, suite=revisions, kernels=revisions, label=st.dictionaries(names, names, max_size=2))
libraries = st.dictionaries(names, st.dictionaries(names, names, max_size=2), max_size=2)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, Json]:
    """Draw environments with and without the versions of libraries."""
    found = draw(objects.filter(lambda found: not {"device", "libraries"} & set(found)))
    return found if draw(st.booleans()) else {**found, "libraries": draw(libraries)}


results = st.builds(
    ResultSet,
    gpubench=names,
    created=names,
    command=st.lists(names, max_size=3).map(tuple),
    suite=objects,
    environment=environments(),
    ceiling=ceilings,
    records=st.lists(records, max_size=3).map(tuple),
    harness=harnesses,
    source=sources,
    extra=objects.filter(lambda found: not set(TOP_KEYS) & set(found)),
)
