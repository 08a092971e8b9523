"""Cases as a suite: the text of a YAML file that stands for exactly these."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from gpubench.model import Case, Json
from gpubench.operators import operator


def suite_text(name: str, cases: Sequence[Case], remarks: Mapping[str, str], description: str = "") -> str:
    """Return a suite of these cases, a line each, with their inputs and contenders. `remarks`: comments by case id.

    Timing is left to who runs it.
    """
    import yaml

    def flow(value: Json) -> str:
        text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True)
        return text.strip().removesuffix("\n...")

    head = {"name": name, **({"description": description} if description else {})}
    lines = [f"{key}: {flow(value)}" for key, value in head.items()]
    shared = cases[0].contenders if cases and all(case.contenders == cases[0].contenders for case in cases) else None
    if shared is not None:
        lines.append(f"defaults: {flow({'contenders': list(shared)})}")
    lines.append("cases:")
    for case in cases:
        remark = f"  # {remarks[case.id]}" if case.id in remarks else ""
        lines.append(f"  - {flow(entry(case, shared is None))}{remark}")
    return "\n".join(lines) + "\n"


def entry(case: Case, with_contenders: bool = False) -> dict[str, Json]:
    """Return what a suite writes for one case: its params without those that are as they would be if left out."""
    params = operator(case.operator).parse(case.params)
    return {
        "operator": case.operator,
        **_without_defaults(params),
        "dtype": case.dtype,
        **({"input": case.distribution} if case.distribution != "normal" else {}),
        **({"seed": case.seed} if case.seed != 1 else {}),
        **({"limits": dict(case.limits)} if case.limits else {}),
        **({"contenders": list(case.contenders)} if with_contenders else {}),
    }


def _without_defaults(value: Any) -> dict[str, Json]:
    found = {}
    for field in dataclasses.fields(value):
        own = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if own != default:
            found[field.name] = _plain(own)
    return found


def _plain(value: Any) -> Json:
    if dataclasses.is_dataclass(value):
        return _without_defaults(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value
