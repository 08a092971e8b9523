"""Time several contestants fairly: rounds in random order, sampled until the median is known well enough.

Pure logic: what a sample is, and how buffers are made, is the contestants' business.
"""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gpubench.errors import FatalDeviceError, GpubenchError
from gpubench.measure.clock_watch import ClockWatch
from gpubench.measure.interval import half_width
from gpubench.model import Sample, Timing, TimingOptions

RESOLUTION_US = 0.032
"""The step of a GPU's event times. A median that is known to one step cannot become better known by more samples,
so for short kernels this is the noise allowed, where `max_noise` of the median is less."""

ROUNDING_US = 0.001
"""What the difference of two event times may be off from whole steps, by the digits that they are given in."""

BATCH_SECONDS = 0.05
"""A batch of samples is at most about this long, so that the stopping rule is asked often enough."""

MAX_BATCH = 16
MOSTLY_SLOW = 0.5
"""Throttled: more than this part of all samples was discarded."""

FIRST_PAUSE = 0.01
LONGEST_PAUSE = 0.5
"""Seconds to back off after a slow sample: doubled each time, up to the longest."""


class Prepared(Protocol):
    """A contestant with its buffers made, its kernels loaded and warm (`warm_up`)."""

    def sample(self, batch: int) -> Sequence[Sample]:
        """Take so many samples."""
        ...

    def close(self) -> None:
        """Give the buffers back (and keep the last outputs for the check, if wanted, before that)."""
        ...


class Contestant(Protocol):
    """Something that can be timed."""

    @property
    def name(self) -> str:
        """Names it in the outcome."""
        ...

    def prepare(self) -> Prepared:
        """Make fresh buffers. Called once a round: samples within one allocation are not independent."""
        ...


class LostContestantError(FatalDeviceError):
    """The device was lost while `contestant` was timed; `timings` holds what the others had until then."""

    def __init__(self, contestant: str, error: FatalDeviceError, timings: dict[str, Timing | GpubenchError]) -> None:
        """Keep the message and the code of the cause."""
        self.contestant = contestant
        self.timings = timings
        super().__init__(str(error), error.code)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a progress display needs: after each batch."""

    contestant: str
    round: int
    samples: int
    discarded: int


@dataclass(slots=True)
class _Tally:
    """The samples of one contestant, by round, and the time it has used."""

    contestant: Contestant
    rounds: list[list[Sample]] = field(default_factory=list)
    seconds: float = 0.0
    pause: float = FIRST_PAUSE
    error: GpubenchError | None = None

    def kept(self, watch: ClockWatch) -> list[float]:
        """Return the times of the samples of all rounds that were not slow, judged by what the watch knows now."""
        return [sample.us for samples in self.rounds for sample in samples if not watch.is_slow(sample)]

    @property
    def taken(self) -> int:
        """All samples, slow ones too."""
        return sum(len(samples) for samples in self.rounds)


def time_contestants(
    contestants: Sequence[Contestant],
    options: TimingOptions,
    seed: int,
    on_progress: Callable[[Progress], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
    watch: ClockWatch | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Timing | GpubenchError]:
    """Time each contestant in every round, in a random order that the seed decides (or as `options.order` says).

    A round goes on, once it has its share of `min_samples`, until the 95 % interval of its own median is within
    sqrt(rounds) * `max_noise`, so that all rounds together come to `max_noise`; the last one until they do, but it
    never outweighs the others together: rounds that disagree must stay noisy, not be outvoted. The round's share of
    `time_limit_s` or `max_samples` ends it in any case. Every round gives a sample, unless `least_rounds` says
    otherwise. Slow samples (`ClockWatch`) do not count; after one the GPU is left alone for a moment. An error of one
    contestant ends that contestant alone and stands in its place; a FatalDeviceError ends all, as LostContestantError.
    """
    watch = watch or ClockWatch()
    order = random.Random(seed)
    tallies = [_Tally(contestant) for contestant in contestants]
    for number in range(options.rounds):
        for tally in _turns(tallies, number, options, order):
            if tally.error is not None or _is_over(tally, number, options):
                continue
            try:
                _one_round(tally, number, options, watch, on_progress, clock, sleep)
            except FatalDeviceError as error:
                tally.error = error
                raise LostContestantError(tally.contestant.name, error, _outcomes(tallies, options, watch)) from error
            except GpubenchError as error:
                tally.error = error
    return _outcomes(tallies, options, watch)


def _is_over(tally: _Tally, number: int, options: TimingOptions) -> bool:
    """Tell whether a contestant gets no further round, because its samples have used up the whole time limit."""
    return 0 < options.least_rounds <= number and tally.seconds >= options.time_limit_s


def _turns(tallies: Sequence[_Tally], number: int, options: TimingOptions, order: random.Random) -> Sequence[_Tally]:
    """Return who comes when in a round. `alternating` turns round each time: A B, B A, so that steady drift cancels."""
    if options.order == "alternating":
        return tallies if number % 2 == 0 else tallies[::-1]
    return order.sample(tallies, len(tallies))


@contextlib.contextmanager
def _prepared(contestant: Contestant) -> Iterator[Prepared]:
    prepared = contestant.prepare()
    try:
        yield prepared
    finally:
        prepared.close()


def _one_round(
    tally: _Tally,
    number: int,
    options: TimingOptions,
    watch: ClockWatch,
    on_progress: Callable[[Progress], None] | None,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> None:
    """Sample one contestant in one round until it may stop."""
    with _prepared(tally.contestant) as prepared:
        samples: list[Sample] = []
        tally.rounds.append(samples)
        batch = 1
        while not _may_stop(tally, number, options, watch):
            started = clock()
            new = prepared.sample(batch)
            samples.extend(new)
            watch.see(new)
            if any(watch.is_slow(sample) for sample in new):
                sleep(tally.pause)
                tally.pause = min(2 * tally.pause, LONGEST_PAUSE)
            else:
                tally.pause = FIRST_PAUSE
            used = clock() - started
            tally.seconds += used
            batch = _next_batch(used / max(len(new), 1), tally, number, options)
            if on_progress is not None:
                kept = len(tally.kept(watch))
                on_progress(Progress(tally.contestant.name, number, kept, tally.taken - kept))


def _share(total: int, number: int, rounds: int) -> int:
    """Return the part of `total` that is due by the end of round `number`, rounded up."""
    return -(-total * (number + 1) // rounds)


def _due(options: TimingOptions) -> int:
    """Return how many kept samples each round needs at least."""
    return -(-options.min_samples // options.rounds)


def _may_stop(tally: _Tally, number: int, options: TimingOptions, watch: ClockWatch) -> bool:
    """Tell whether the round `number` has seen enough."""
    current = tally.rounds[number]
    if not current:
        return False  # every round gives at least one sample, whatever the limits
    limit = options.time_limit_s * (number + 1) / options.rounds
    if tally.seconds >= limit or tally.taken >= _share(options.max_samples, number, options.rounds):
        return True
    times = [sample.us for sample in current if not watch.is_slow(sample)]
    if len(times) < _due(options) or not _is_quiet(times, options.max_noise * math.sqrt(options.rounds)):
        return False
    earlier = tally.taken - len(current)
    is_last = number == options.rounds - 1
    return not is_last or 0 < earlier <= len(current) or _is_quiet(tally.kept(watch), options.max_noise)


def _is_quiet(times: Sequence[float], max_noise: float) -> bool:
    """Tell whether the 95 % interval of the median is narrow enough."""
    width = half_width(times)
    return width is not None and width <= max(max_noise * statistics.median(times), RESOLUTION_US + ROUNDING_US)


def _next_batch(seconds_each: float, tally: _Tally, number: int, options: TimingOptions) -> int:
    """Choose how many samples to take at once: short ones many, long ones one, never beyond what the round may take.

    First up to the round's share of `min_samples`, after which it may well be over.
    """
    fitting = int(BATCH_SECONDS / seconds_each) if seconds_each > 0 else MAX_BATCH
    left = _share(options.max_samples, number, options.rounds) - tally.taken
    due = _due(options) - len(tally.rounds[number])
    return max(1, min(fitting, MAX_BATCH, left, due if due > 0 else MAX_BATCH))


def _outcomes(
    tallies: Sequence[_Tally], options: TimingOptions, watch: ClockWatch
) -> dict[str, Timing | GpubenchError]:
    return {
        tally.contestant.name: _timing(tally, options, watch) if tally.error is None else tally.error
        for tally in tallies
    }


def _timing(tally: _Tally, options: TimingOptions, watch: ClockWatch) -> Timing:
    """Part the samples into kept and discarded by all that the watch has seen, and judge them."""
    rounds = tuple(tuple(sample for sample in samples if not watch.is_slow(sample)) for samples in tally.rounds)
    discarded = tuple(
        (number, sample) for number, samples in enumerate(tally.rounds) for sample in samples if watch.is_slow(sample)
    )
    kept = [sample for samples in rounds for sample in samples]
    times = [sample.us for sample in kept]
    throttled = _throttled(kept, len(discarded), watch)
    noisy = throttled is None and not _is_quiet(times, options.max_noise)
    message = throttled or (_noisy(times, options) if noisy else too_few(len(kept), options))
    return Timing(rounds, discarded, noisy, throttled is not None, message)


def _throttled(kept: Sequence[Sample], discarded: int, watch: ClockWatch) -> str | None:
    """Say why the clocks were too low for the times to count, None when they were not."""
    if discarded > MOSTLY_SLOW * (discarded + len(kept)):
        return (
            f"{discarded} of {discarded + len(kept)} samples were taken while the SM clock was under 75 % of the "
            f"{watch.highest:.0f} MHz that this run has seen: the GPU is throttled."
        )
    held = watch.held_at(kept)
    if held is None or watch.rated_mhz is None:
        return None
    return (
        f"The SM clock was {held:.0f} MHz, {100 * held / watch.rated_mhz:.0f} % of the {watch.rated_mhz:.0f} MHz that "
        "the card is built for: its clocks are capped (`nvidia-smi -q -d CLOCK` tells), or it is throttled."
    )


def _noisy(times: Sequence[float], options: TimingOptions) -> str:
    """Say that the median of these times is not known well enough, or not at all."""
    width = half_width(times)
    if width is None:
        return too_few(len(times), options) or f"{len(times)} samples are too few to know their median."
    return (
        f"The median, {statistics.median(times):.4g} us, is known to {width:.3g} us after {len(times)} samples; "
        f"{100 * options.max_noise:g} % was wanted."
    )


def too_few(kept: int, options: TimingOptions) -> str | None:
    """Say that there are fewer samples than were wanted, None when there are enough. It does not make a time noisy."""
    if kept >= options.min_samples:
        return None
    return f"Only {kept} of {options.min_samples} samples were taken within {options.time_limit_s:g} s."
