"""Python files of a suite, imported from the folder that they were staged in, by a process that may run them."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gpubench.errors import CompileError

_IMPORTED: dict[Path, ModuleType] = {}


def attribute(folder: str, file: str, name: str) -> Any:
    """Return a function of a Python file. CompileError, in one line, when the file fails or has no such function."""
    module = _module(Path(folder), file)
    if not callable(getattr(module, name, None)):
        there = [each for each, value in vars(module).items() if callable(value) and not each.startswith("_")]
        near = difflib.get_close_matches(name, there, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(there[:8]) or 'none'}"
        raise CompileError(f"{file} has no function {name}; {hint}")
    return getattr(module, name)


def named(function: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the offered keywords that a function names; all where it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        return dict(offered)
    return {
        parameter.name: offered[parameter.name]
        for parameter in parameters
        if parameter.name in offered and parameter.kind != parameter.POSITIONAL_ONLY
    }


def _module(folder: Path, file: str) -> ModuleType:
    """Import a file once. Files beside it can be imported from it by their names."""
    path = folder / file
    if path in _IMPORTED:
        return _IMPORTED[path]
    name = "gpubench_own_" + "".join(char if char.isalnum() else "_" for char in str(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CompileError(f"{file} cannot be imported: is it a .py file?")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # decorators such as Triton's look their module up
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))  # behind all others: a file called numpy.py must not stand in for numpy
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # whatever a user's file raises while it is imported, SystemExit too
        sys.modules.pop(name, None)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise CompileError(f"{file} cannot be imported: {_said(error, path, file)}") from error
    _IMPORTED[path] = module
    return module


def _said(error: BaseException, path: Path, file: str) -> str:
    """Return type and message of an error, with the line of the file that it passed last."""
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    text = str(error.msg if isinstance(error, SyntaxError) else error).splitlines()
    place = f" ({file}:{line})" if line else ""
    return f"{type(error).__name__}: {text[0] if text else ''}{place}"
