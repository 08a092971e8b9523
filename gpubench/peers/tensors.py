"""What torch does for each operator, eager (`out=` forms) or as a function to compile; shared by torch and inductor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpubench.dtypes import dtype
from gpubench.model import Problem
from gpubench.names import TORCH
from gpubench.operators.elementwise.function import Call
from gpubench.peers import functions
from gpubench.peers.base import DeviceOperand

Torch = Any
Tensors = Mapping[str, Any]


def tensors(torch: Torch, operands: Mapping[str, DeviceOperand]) -> dict[str, Any]:
    """Return the operands as torch tensors on the same memory. Masks of uint8 stay uint8."""
    made = {}
    for name, operand in operands.items():
        tensor = torch.as_tensor(operand, device="cuda")
        made[name] = tensor.view(torch.bfloat16) if operand.dtype == "bfloat16" else tensor
    return made


def refusal(problem: Problem[Any]) -> str | None:
    """Return why torch has nothing for the problem, None when it has."""
    if problem.case.operator == "sum" and problem.params.dim == () and problem.params.shape != ():
        return "torch reads an empty list of dims as all dims"
    return functions.refusal(TORCH, problem) if problem.case.operator == "elementwise" else None


def arguments(torch: Torch, problem: Problem[Any], given: Tensors) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return an elementwise function's operands and keywords as torch takes them."""
    operands = [given[operand.name] for operand in problem.operands if operand.role == "in"]
    masks = functions.masks_of(problem)
    operands[:masks] = [mask.view(torch.bool) for mask in operands[:masks]]
    whole = all(dtype(operand.dtype).kind == "integer" for operand in problem.operands if operand.role == "in")
    scalars = {name: int(value) if whole else value for name, value in problem.params.scalars.items()}
    after, keywords = _call(problem).arguments(scalars)
    return (*operands, *after), keywords


def _call(problem: Problem[Any]) -> Call:
    call = functions.call_of(TORCH, problem)
    assert call is not None  # `refusal` came first
    return call


def in_place(torch: Torch, problem: Problem[Any], given: Tensors) -> Callable[[], Any]:
    """Return the eager call that writes into the problem's own output."""
    params = problem.params
    match problem.case.operator:
        case "cumsum":
            return lambda: torch.cumsum(given["x"], params.dim, dtype=given["y"].dtype, out=given["y"])
        case "sum":
            dims = tuple(params.dim) or None
            x, y = given["x"], given["y"]
            return lambda: torch.sum(x, dims, keepdim=params.keepdim, dtype=y.dtype, out=y)
        case "index_add":
            destination = given["destination"].reshape(1) if params.shape == () else given["destination"]
            alpha = params.alpha if destination.is_floating_point() or destination.is_complex() else int(params.alpha)
            return lambda: destination.index_add_(params.dim, given["index"], given["source"], alpha=alpha)
        case _:
            return _elementwise(torch, problem, given)


def _elementwise(torch: Torch, problem: Problem[Any], given: Tensors) -> Callable[[], Any]:
    y = given["y"]
    if problem.params.function == "copy":  # which casts, too
        return lambda: y.copy_(given["a"])
    call = functions.function_of(torch, _call(problem))
    operands, keywords = arguments(torch, problem, given)
    natural = _result_dtype(call, operands, keywords)
    if natural == y.dtype or torch.can_cast(natural, y.dtype):
        return lambda: call(*operands, **keywords, out=y)
    return lambda: y.copy_(call(*operands, **keywords))  # float to integer: torch has no form that does both


def _result_dtype(call: Any, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Return the dtype that the function gives by itself, found on the one-element corner of the operands."""
    small = [
        operand[tuple(slice(0, 1) for _ in operand.shape)] if hasattr(operand, "shape") else operand
        for operand in operands
    ]
    return call(*small, **keywords).dtype


def function(torch: Torch, problem: Problem[Any]) -> Callable[[Tensors], Any]:
    """Return the same work as a function of the tensors that torch can compile; index_add changes its destination.

    A result that the case wants row by row is made so: by itself, it would lie as the operands do, which is less work
    where they are transposed. Where it lies row by row already, `contiguous` does nothing.
    """
    if problem.case.operator == "index_add":
        return lambda given: in_place(torch, problem, given)()
    work = _functional(torch, problem)
    if problem.operand("y").view.is_contiguous:
        return lambda given: work(given).contiguous()
    return work


def _functional(torch: Torch, problem: Problem[Any]) -> Callable[[Tensors], Any]:
    params, kept = problem.params, getattr(torch, problem.operand("y").dtype)
    match problem.case.operator:
        case "cumsum":
            return lambda given: torch.cumsum(given["x"], params.dim, dtype=kept)
        case "sum":
            dims = tuple(params.dim) or None
            return lambda given: torch.sum(given["x"], dims, keepdim=params.keepdim, dtype=kept)

    def elementwise(given: Tensors) -> Any:
        if params.function == "copy":
            return given["a"].to(kept, copy=True)
        operands, keywords = arguments(torch, problem, given)
        return functions.function_of(torch, _call(problem))(*operands, **keywords).to(kept)

    return elementwise
