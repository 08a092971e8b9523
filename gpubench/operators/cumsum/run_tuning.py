"""The tuned numbers of lines that go to y in runs, apart from what they do as those of tuning.py.

None is timed yet: each says what was expected.
"""

from __future__ import annotations

RUN_LEAST, RUN_CROSSED_LEAST = 1 << 19, 1 << 20
"""Elements from which blocks take runs of y: less is a launch's latency, to which two barriers and a trip through
shared memory would be added. Where x lies across the lines the other variants read it at once as well."""

RUN_SIDE = 128
"""Bytes of a row of y, at most, of the lines beside each other: a warp that walks wider ones writes mostly whole
sectors."""

RUN_LINE = 32
"""Bytes of a line of y from which its group lands as a run: of shorter ones threads have too little under way."""

RUN_LENGTH = 8
"""Elements of a line that lies along x from which its group goes in a run: a thread loads shorter ones as a vector."""

RUN_SHARES, RUN_CROSSED_SHARES = 16, 8
"""Shares of a line, at most: each thread adds up the totals of all before its own. Of those across x so many of 4 bytes
are 256 elements: longer lines are the ring's."""

RUN_THREADS, RUN_MOST_THREADS = 128, 512
"""Threads of a block, as far as a group needs no more, and at most (`run_threads` in C++)."""

RUN_ROWS, RUN_ROW_BYTES = (8, 16, 32), 128
"""Elements of a thread, of at most so many bytes: the first that holds a line, or the last. 32 float32 are 16 KB of x a
block."""

RUN_CROSSED = 128
"""Bytes of a row across the lines, of the wider of x and y, that a block reads at once as far as threads are enough."""

RUN_BYTES = 48 << 10
"""Bytes of a block's run in shared memory, at most: four such blocks an SM."""
