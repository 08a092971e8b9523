"""When sampling stops, what is kept, and what an error of one contestant does to the others; on a fake clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from gpubench.errors import DeviceError, FatalDeviceError, GpubenchError, OutOfMemoryError
from gpubench.measure.clock_watch import ClockWatch
from gpubench.measure.timing import LostContestantError, Progress, time_contestants
from gpubench.model import Sample, Timing, TimingOptions


class Clock:
    """A clock that moves only when a contestant takes a sample or the timing sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds


class Scripted:
    """A contestant whose n-th sample is `script(n)`; a GpubenchError in its place is raised."""

    def __init__(
        self, name: str, clock: Clock, script: Callable[[int], Sample | GpubenchError], seconds: float = 1e-4
    ) -> None:
        self.name = name
        self.clock = clock
        self.script = script
        self.seconds = seconds
        self.taken = 0
        self.prepared = 0
        self.closed = 0
        self.batches: list[int] = []

    def prepare(self) -> Scripted:
        """Count rounds."""
        self.prepared += 1
        return self

    def sample(self, batch: int) -> Sequence[Sample]:
        """Give the next samples."""
        samples = []
        self.batches.append(batch)
        for _ in range(batch):
            outcome = self.script(self.taken)
            self.taken += 1
            self.clock.now += self.seconds
            if isinstance(outcome, GpubenchError):
                raise outcome
            samples.append(outcome)
        return samples

    def close(self) -> None:
        """Count what is given back."""
        self.closed += 1


def steady(us: float = 10.0, mhz: float | None = 1980.0) -> Callable[[int], Sample]:
    """Return the same sample always."""
    return lambda _: Sample(us, mhz)


def noisy(us: float, spread: float, seed: int = 1) -> Callable[[int], Sample]:
    """Return normal noise around `us`."""
    source = random.Random(seed)
    return lambda _: Sample(us * (1 + spread * source.gauss(0, 1)), 1980.0)


def timed(
    clock: Clock,
    *contestants: Scripted,
    seed: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    watch: ClockWatch | None = None,
    options: TimingOptions | None = None,
) -> dict[str, Timing | GpubenchError]:
    """Time them on the fake clock."""
    chosen = options or TimingOptions()
    return time_contestants(contestants, chosen, seed, on_progress, clock, watch, clock.sleep)


def timing_of(outcome: Timing | GpubenchError) -> Timing:
    """Return the timing, which must be one."""
    assert isinstance(outcome, Timing)
    return outcome


def test_a_steady_contestant_stops_early_with_enough_samples() -> None:
    """At least min_samples over all rounds, each round with fresh buffers, all given back, and no noise."""
    clock = Clock()
    contestant = Scripted("a", clock, steady())
    timing = timing_of(timed(clock, contestant)["a"])
    assert [len(samples) for samples in timing.rounds] == [7, 7, 7]
    assert 20 <= len(timing.samples) <= 21
    assert contestant.prepared == contestant.closed == 3
    assert not timing.noisy
    assert timing.message is None


def test_more_noise_takes_more_samples_until_the_median_is_known() -> None:
    """The stopping rule looks at the interval of the median."""
    clock = Clock()
    quiet = Scripted("quiet", clock, noisy(1000.0, 0.001))
    loud = Scripted("loud", clock, noisy(1000.0, 0.02))
    outcome = timed(clock, quiet, loud)
    few, many = timing_of(outcome["quiet"]), timing_of(outcome["loud"])
    assert not few.noisy
    assert not many.noisy
    assert len(many.samples) > 2 * len(few.samples)


def test_noise_beyond_the_time_limit_is_noisy_and_keeps_its_numbers() -> None:
    """The limit bounds the sampling of all rounds together; the message tells how well the median is known."""
    clock = Clock()
    contestant = Scripted("a", clock, noisy(1000.0, 0.5), seconds=0.02)
    timing = timing_of(timed(clock, contestant, options=TimingOptions(time_limit_s=3.0))["a"])
    assert timing.noisy
    assert 2.9 <= clock.now <= 3.2
    assert len(timing.samples) == contestant.taken
    assert all(timing.rounds)
    assert "0.5 % was wanted" in str(timing.message)


def test_a_very_slow_contestant_gives_one_sample_a_round() -> None:
    """However long a run takes, every round has its sample, one at a time."""
    clock = Clock()
    contestant = Scripted("a", clock, steady(3e6), seconds=3.0)
    timing = timing_of(timed(clock, contestant)["a"])
    assert [len(samples) for samples in timing.rounds] == [1, 1, 1]
    assert set(contestant.batches) == {1}
    assert timing.noisy
    assert "Only 3 of 20" in str(timing.message)


def test_a_search_leaves_out_the_further_rounds_of_what_is_hopeless() -> None:
    """With `least_rounds`, who has used up the time limit by then gets no other round; everybody else gets all."""
    clock = Clock()
    slow, quick = Scripted("slow", clock, steady(3e6), seconds=3.0), Scripted("quick", clock, steady())
    found = timed(clock, slow, quick, options=TimingOptions(least_rounds=1))
    assert [len(samples) for samples in timing_of(found["slow"]).rounds] == [1]
    assert [bool(samples) for samples in timing_of(found["quick"]).rounds] == [True] * 3


def test_the_largest_number_of_samples_is_kept() -> None:
    """`max_samples` bounds even what stays noisy."""
    clock = Clock()
    timing = timing_of(
        timed(clock, Scripted("a", clock, noisy(1000.0, 0.5)), options=TimingOptions(max_samples=50))["a"]
    )
    assert len(timing.samples) == 50
    assert timing.noisy


def test_steps_of_the_clock_are_not_noise() -> None:
    """A short kernel whose times jump between two ticks of the GPU's timer is as well known as it can be."""
    clock = Clock()
    timing = timing_of(timed(clock, Scripted("a", clock, lambda n: Sample(3.0 + 0.032 * (n % 2), 1980.0)))["a"])
    assert not timing.noisy


@pytest.mark.parametrize("tick", [3.968, 3.967999946, 5.344])
def test_one_step_is_one_step_in_binary_fractions_too(tick: float) -> None:
    """The difference of two ticks can be a little more than 0.032, which must not make a case noisy."""
    clock = Clock()
    times = (tick, tick + 0.032000002)
    timing = timing_of(timed(clock, Scripted("a", clock, lambda n: Sample(times[n % 2], 1980.0)))["a"])
    assert not timing.noisy, timing.message


def test_rounds_that_disagree_are_noisy_though_each_is_steady() -> None:
    """What depends on the allocation shows only between rounds, and more samples within one must not hide it."""
    clock = Clock()
    contestant = Scripted("a", clock, steady())
    contestant.script = lambda _: Sample(100.0 + 10 * contestant.prepared, 1980.0)
    assert timing_of(timed(clock, contestant, options=TimingOptions(rounds=2, max_samples=90))["a"]).noisy


def test_the_order_is_random_but_the_seeds_own() -> None:
    """The same seed gives the same order; each round has all contestants once, and not always in one order."""

    def order(seed: int) -> list[str]:
        clock, seen = Clock(), []
        contestants = [Scripted(name, clock, steady()) for name in "abcd"]
        timed(
            clock,
            *contestants,
            seed=seed,
            on_progress=lambda progress: seen.append((progress.round, progress.contestant)),
        )
        return [name for _, name in dict.fromkeys(seen)]

    assert order(1) == order(1)
    assert all(sorted(order(1)[start : start + 4]) == list("abcd") for start in (0, 4, 8))
    assert len({tuple(order(seed)[:4]) for seed in range(20)}) > 5


def test_slow_clocks_are_discarded_kept_apart_and_backed_off_from() -> None:
    """A sample at half the clock does not count; the GPU is left alone for a moment, longer each time."""
    clock = Clock()
    timing = timing_of(
        timed(clock, Scripted("a", clock, lambda n: Sample(20.0, 900.0) if 5 <= n < 9 else Sample(10.0, 1980.0)))["a"]
    )
    assert {sample.us for sample in timing.samples} == {10.0}
    assert [sample.us for _, sample in timing.discarded] == [20.0] * 4
    assert clock.slept
    assert clock.slept == sorted(clock.slept)
    assert not timing.throttled
    assert len(timing.samples) >= 20


def test_samples_from_before_the_clock_rose_are_discarded_too() -> None:
    """A GPU that starts idle shows its highest clock only later; what came before is judged by it all the same."""
    clock = Clock()
    script = Scripted("a", clock, lambda n: Sample(60.0, 345.0) if n < 4 else Sample(10.0, 1980.0))
    timing = timing_of(timed(clock, script)["a"])
    assert {sample.us for sample in timing.samples} == {10.0}
    assert len(timing.discarded) == 4


def test_mostly_slow_samples_are_throttled() -> None:
    """A watch that has seen higher clocks in this run tells; the time limit still ends it."""
    clock, watch = Clock(), ClockWatch()
    watch.see([Sample(1.0, 1980.0)] * 3)
    timing = timing_of(timed(clock, Scripted("a", clock, steady(10.0, 800.0)), watch=watch)["a"])
    assert timing.throttled
    assert not timing.noisy
    assert timing.samples == ()
    assert clock.now < 4
    assert "throttled" in str(timing.message)


def test_a_capped_card_is_throttled_and_keeps_its_numbers() -> None:
    """Clocks held at 1400 of 1980 MHz are steady, so no sample is slow; the times are the cap's, and that is said."""
    clock = Clock()
    timing = timing_of(timed(clock, Scripted("a", clock, steady(10.0, 1400.0)), watch=ClockWatch(1980.0))["a"])
    assert timing.throttled
    assert len(timing.samples) >= 20
    assert timing.discarded == ()
    assert not clock.slept
    assert "1400 MHz, 71 % of the 1980 MHz" in str(timing.message)


@pytest.mark.parametrize(("mhz", "rated"), [(1980.0, 1980.0), (1600.0, 1980.0), (1400.0, None), (None, 1980.0)])
def test_a_clock_near_the_card_s_own_is_fine(mhz: float | None, rated: float | None) -> None:
    """Cards that boost less than they may, and those that tell no clock, are not called throttled."""
    clock = Clock()
    timing = timing_of(timed(clock, Scripted("a", clock, steady(10.0, mhz)), watch=ClockWatch(rated))["a"])
    assert not timing.throttled
    assert timing.message is None


def test_one_misread_clock_condemns_nothing() -> None:
    """A single absurd stamp is not the highest clock seen."""
    clock = Clock()
    timing = timing_of(timed(clock, Scripted("a", clock, lambda n: Sample(10.0, 99_999.0 if n == 3 else 1980.0)))["a"])
    assert timing.discarded == ()


def test_samples_without_a_clock_are_kept() -> None:
    """Devices that cannot tell their clock are believed."""
    clock = Clock()
    timing = timing_of(timed(clock, Scripted("a", clock, steady(10.0, None)))["a"])
    assert timing.discarded == ()


@pytest.mark.parametrize("error", [DeviceError("broken"), OutOfMemoryError("full", 2)])
def test_an_error_of_one_contestant_leaves_the_others_alone(error: GpubenchError) -> None:
    """It stands in that contestant's place, its buffers are given back, and it is not tried again."""
    clock = Clock()
    bad = Scripted("bad", clock, lambda n: error if n == 4 else Sample(1.0))
    good = Scripted("good", clock, steady())
    outcome = timed(clock, bad, good)
    assert outcome["bad"] is error
    assert not timing_of(outcome["good"]).noisy
    assert bad.prepared == bad.closed == 1


def test_an_error_while_preparing_counts_as_the_contestants() -> None:
    """Out of memory at the buffers loses only that contestant."""
    clock = Clock()
    bad = Scripted("bad", clock, steady())
    bad.prepare = lambda: (_ for _ in ()).throw(OutOfMemoryError("full"))  # type: ignore[method-assign] # a test double
    outcome = timed(clock, bad, Scripted("good", clock, steady()))
    assert isinstance(outcome["bad"], OutOfMemoryError)
    assert isinstance(outcome["good"], Timing)


def test_a_lost_device_names_the_contestant() -> None:
    """A fatal error ends all; who caused it and what the others had is told."""
    clock = Clock()
    bad = Scripted("bad", clock, lambda n: FatalDeviceError("gone", 700) if n == 4 else Sample(1.0))
    good = Scripted("good", clock, steady())
    with pytest.raises(LostContestantError, match="gone") as caught:
        timed(clock, good, bad)
    assert caught.value.contestant == "bad"
    assert caught.value.code == 700
    assert isinstance(caught.value.timings["good"], Timing)
    assert bad.closed == 1


def test_an_interrupt_gives_the_buffers_back() -> None:
    """Ctrl-C in the middle of a batch."""

    def interrupted(_: int) -> Sample:
        raise KeyboardInterrupt

    clock = Clock()
    contestant = Scripted("a", clock, interrupted)
    with pytest.raises(KeyboardInterrupt):
        timed(clock, contestant)
    assert contestant.closed == 1


def test_progress_is_told_after_each_batch() -> None:
    """The last report holds all that was taken."""
    clock = Clock()
    seen: list[Progress] = []
    contestant = Scripted("a", clock, steady())
    timed(clock, contestant, on_progress=seen.append)
    assert len(seen) == len(contestant.batches)
    assert (seen[-1].contestant, seen[-1].round, seen[-1].samples) == ("a", 2, contestant.taken)


@pytest.mark.parametrize(("seconds", "samples"), [(0.6, 4), (5.0, 3), (100.0, 3)])
def test_what_takes_seconds_is_sampled_once_a_round(seconds: float, samples: int) -> None:
    """A slow contestant gets what the interval of its rounds needs, and its message says how few samples that is."""
    clock = Clock()
    slow, quick = Scripted("slow", clock, steady(seconds * 1e6), seconds), Scripted("quick", clock, steady())
    found = timed(clock, slow, quick)
    assert slow.taken == samples
    assert quick.taken >= 20
    told = found["slow"]
    assert isinstance(told, Timing)
    assert [bool(samples) for samples in told.rounds] == [True] * 3
    assert f"Only {samples} of 20 samples" in str(told.message)
