"""What torch and JAX answer to the cases of the smoke suite, on the processor: the calls mean what our operators mean.

Skipped where the libraries are not installed. Devices, streams and speed are another matter: this is about arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from gpubench.dtypes import dtype
from gpubench.measure.check import check
from gpubench.model import Case, Operand, Problem
from gpubench.operators import operator
from gpubench.peers import tensors
from gpubench.peers.inductor import InductorPeer
from gpubench.peers.jax import JaxPeer
from gpubench.suite.expand import load_suite

# torch 2.11 imports its own deprecated parts when it compiles
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.:DeprecationWarning")

LARGEST = 1_100_000
NARROW = ("float16", "bfloat16")
"""Dtypes in which XLA on a processor adds without a wider accumulator: its error says nothing of the arguments."""


def cases() -> list[Case]:
    """Return the suite's cases that are small."""
    found = load_suite("smoke").cases
    return [case for case in found if max(o.view.storage for o in problem(case).operands) <= LARGEST]


def problem(case: Case) -> Problem[Any]:
    """Return the case's problem."""
    return operator(case.operator).problem(case)


def storages(made: Problem[Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return memory for every operand: inputs copied, outputs poisoned."""
    import numpy

    found = {}
    for operand in made.operands:
        storage = numpy.empty(operand.view.storage, dtype(operand.dtype).numpy)
        if operand.role == "out":
            storage.view(numpy.uint8)[:] = 0xA5
        else:
            storage[:] = inputs[operand.name].reshape(-1)
        found[operand.name] = storage
    return found


def offered(
    refusal: Callable[[Problem[Any]], str | None],
) -> Iterator[tuple[Problem[Any], Mapping[str, Any], dict[str, Any]]]:
    """Yield the problems that a peer does not refuse, with their inputs and memory for every operand."""
    for made in map(problem, cases()):
        if refusal(made) is None:
            inputs = operator(made.case.operator).inputs(made)
            yield made, inputs, storages(made, inputs)


def assert_right(made: Problem[Any], inputs: Mapping[str, Any], output: Any) -> None:
    """Hold an output against the reference."""
    found = operator(made.case.operator)
    verdict = check(made, found.reference(made, inputs), found.accuracy(made), output)
    assert verdict.ok, (made.case.id, verdict)


def tensor(torch: Any, storage: Any, operand: Operand) -> Any:
    """Return a tensor on the storage."""
    import numpy

    bits = storage.view(numpy.int16) if operand.dtype == "bfloat16" else storage
    flat = torch.from_numpy(bits)
    flat = flat.view(torch.bfloat16) if operand.dtype == "bfloat16" else flat
    return flat.as_strided(operand.view.shape, operand.view.strides, operand.view.offset)


def torch_answers(call: Callable[[Any, Problem[Any], dict[str, Any]], None]) -> None:
    """Let torch do every case that it is offered."""
    torch = pytest.importorskip("torch")
    for made, inputs, memory in offered(tensors.refusal):
        with torch.no_grad():
            call(torch, made, {operand.name: tensor(torch, memory[operand.name], operand) for operand in made.operands})
        out = next(operand for operand in made.operands if operand.role != "in")
        assert_right(made, inputs, out.view.of(memory[out.name]))


def test_torch_s_out_forms_write_our_answers_into_our_memory() -> None:
    """Every case of the smoke suite that the peer takes, in the memory that it was given."""
    torch_answers(lambda torch, made, given: tensors.in_place(torch, made, given)())


def test_compiled_functions_have_no_breaks_and_give_our_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph that Inductor gets is whole, and its second round compiles nothing."""
    peer = InductorPeer()

    def call(torch: Any, made: Problem[Any], given: dict[str, Any]) -> None:
        if any(operand.view.size == 0 for operand in made.operands):
            tensors.in_place(torch, made, given)()
            return
        whole = torch.compile
        with monkeypatch.context() as patch:
            patch.setattr(torch, "compile", lambda work, **settings: whole(work, backend="eager", **settings))
            peer._torch = torch
            compiled = peer._function(made)
        assert peer._function(made) is compiled
        clones = {name: tensor.clone() if tensor.is_contiguous() else tensor for name, tensor in given.items()}
        result = compiled(clones if made.case.operator == "index_add" else given)
        if made.case.operator == "index_add":
            given["destination"].copy_(result)
        else:
            given["y"].copy_(result)
            torch.compiler.set_stance("fail_on_recompile")
            try:
                compiled({name: tensor.detach() for name, tensor in given.items()})
            finally:
                torch.compiler.set_stance("default")

    torch_answers(call)


def test_jax_s_functions_give_our_answers() -> None:
    """Every case that the peer takes, 64-bit dtypes kept."""
    jax = pytest.importorskip("jax")
    import numpy

    jax.config.update("jax_enable_x64", True)
    peer = JaxPeer()
    peer._jax = jax
    for made, inputs, memory in offered(peer.offers):
        given = {
            operand.name: operand.view.of(memory[operand.name]) for operand in made.operands if operand.role != "out"
        }
        bits = [tensor.view(numpy.int16) if tensor.dtype.name == "bfloat16" else tensor for tensor in given.values()]
        result = numpy.asarray(jax.jit(peer._function(made, list(given)))(*map(jax.numpy.asarray, bits)))
        out = next(operand for operand in made.operands if operand.role != "in")
        assert result.dtype == dtype(out.dtype).numpy, made.case.id
        if made.case.dtype not in NARROW:
            assert_right(made, inputs, result.reshape(out.view.shape))
