"""No plan starts blocks of more threads than its kernel is compiled for: nothing but a GPU refuses such a launch."""

from __future__ import annotations

import pytest

from gpubench.kernels.compiler import compile_instance
from gpubench.kernels.elf import most_threads
from gpubench.model import Case, Plan
from gpubench.operators import OPERATORS
from studies.draws import draw_cases
from tests.operators.cases import DEVICE, make_case
from tests.operators.cumsum.edges import edges as cumsum_edges
from tests.operators.elementwise.edges import edges as elementwise_edges
from tests.operators.index_add.edges import edges as index_add_edges
from tests.operators.sum.edges import edges as sum_edges

pytest.importorskip("cupy_backends", reason="NVRTC comes with the extra cuda13")


def around_powers_of_two() -> list[Case]:
    """Return sums of all of 2^k elements, and of one more and one less: whole vectors and parts of one."""
    sizes = [2**exponent + near for exponent in range(5, 18) for near in (-1, 0, 1)]
    dtypes = ("int8", "bfloat16", "float32", "float64", "complex128")
    return [make_case("sum", dtype, shape=(size,), dim=0) for size in sizes for dtype in dtypes]


EDGES = {
    "cumsum": lambda: list(cumsum_edges(DEVICE)),
    "sum": lambda: [case for cases in sum_edges(DEVICE).values() for case in cases] + around_powers_of_two(),
    "elementwise": lambda: [case for cases in elementwise_edges(DEVICE).values() for case in cases],
    "index_add": lambda: [case for case, _ in index_add_edges()],
}


@pytest.mark.parametrize("operator", sorted(EDGES))
def test_blocks_have_no_more_threads_than_their_kernel_is_compiled_for(operator: str) -> None:
    """At the edges of the rules, and in random cases, as the machine code says it."""
    cases = [*EDGES[operator](), *draw_cases(operator, 7, 25, 14, 27, "many")]
    plans = [OPERATORS[operator].choose(OPERATORS[operator].problem(case), DEVICE) for case in cases]
    launches = [launch for plan in plans if isinstance(plan, Plan) for launch in plan.launches]
    assert len(launches) >= 50
    most: dict[tuple[str, str], int | None] = {}
    for launch in launches:
        instance = launch.source, launch.kernel
        if instance not in most:
            compiled = compile_instance(*instance, "sm_90")
            most[instance] = most_threads(compiled.cubin, compiled.lowered_name)
        allowed = most[instance]
        assert allowed is None or launch.block[0] * launch.block[1] * launch.block[2] <= allowed, launch.kernel
    assert any(allowed is not None for allowed in most.values())
