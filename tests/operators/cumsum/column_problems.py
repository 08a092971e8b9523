"""Problems of columns, and devices of any size, for hypothesis: what the cuts of columns are tried on."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from gpubench.operators import OPERATORS


def columns_and_devices(most_columns: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test (dtype, shape, layout, figures of a device): rows of 2 to `most_columns` columns, aligned or not."""
    return given(
        dtype=st.sampled_from(OPERATORS["cumsum"].dtypes),
        shape=st.tuples(st.sampled_from((1, 2, 7, 200)), st.integers(1, 3_000_000), st.integers(2, most_columns)),
        layout=st.fixed_dictionaries({"offset": st.integers(0, 9), "expand": st.sampled_from(([], [0], [1]))}),
        figures=st.fixed_dictionaries(
            {
                "sm_count": st.sampled_from((1, 4, 17, 132, 188)),
                "max_shared_bytes": st.sampled_from([kib << 10 for kib in (48, 64, 99, 163, 227)]),
            }
        ),
    )
