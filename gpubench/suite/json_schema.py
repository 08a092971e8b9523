"""The JSON Schema (draft 2020-12) of suite files, for editors: completion, and mistakes underlined while typing.

It is looser than the reader in what crosses keys (equal lengths under `zip`, a placeholder without its variable).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pydantic

from gpubench.operators import OPERATORS
from gpubench.suite.schema import SUITE_FILE, Key, common_keys, operator_keys, random_checker, variable_key
from gpubench.suite.types import MAX_WHOLE

Schema = dict[str, Any]

_TEMPLATE = "#/$defs/{model}"


def json_schema() -> Schema:
    """Return the schema as plain JSON."""
    adapters: dict[tuple[str, str], pydantic.TypeAdapter[Any]] = {
        ("case", name): key.checker.adapter for name, key in (*common_keys().items(), ("", variable_key("n")))
    }
    for operator in OPERATORS:
        adapters |= {(operator, name): key.checker.adapter for name, key in operator_keys(operator).items()}
    singles, shared = pydantic.TypeAdapter.json_schemas(
        [(place, "validation", adapter) for place, adapter in adapters.items()], ref_template=_TEMPLATE
    )
    values = {place: schema for (place, _), schema in singles.items()}
    common = {name: _axis(key, values["case", name]) for name, key in common_keys().items()}
    variable = _axis(variable_key("n"), values["case", ""])
    definitions = dict(shared.get("$defs", {}))
    definitions["range"] = _RANGE
    definitions["random"] = random_checker().adapter.json_schema(ref_template=_TEMPLATE)
    definitions |= definitions["random"].pop("$defs", {})
    for operator in OPERATORS:
        own = {name: _axis(key, values[operator, name]) for name, key in operator_keys(operator).items()}
        definitions[operator] = _case(operator, {**common, **own}, operator_keys(operator), variable)
    return _suite(definitions, {name: schema for name, schema in common.items() if name != "peers"})


def _suite(definitions: Schema, defaults: Schema) -> Schema:
    """Return the whole schema: the outermost mapping, whose cases are chosen by their operator."""
    top = SUITE_FILE.model_json_schema(ref_template=_TEMPLATE)
    properties = top["properties"]
    properties["defaults"] = {"type": "object", "properties": defaults, "additionalProperties": False}
    properties["cases"]["items"] = {
        "type": "object",
        "required": ["operator"],
        "properties": {"operator": {"type": "string"}},
        "allOf": [
            {"if": {"properties": {"operator": {"const": name}}}, "then": {"$ref": f"#/$defs/{name}"}}
            for name in OPERATORS
        ],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gpubench suite",
        "type": "object",
        "required": top["required"],
        "properties": properties,
        "additionalProperties": False,
        "if": {"not": {"required": ["operators"]}},  # a suite that declares none has ours alone
        "then": {"properties": {"cases": {"items": {"properties": {"operator": {"enum": list(OPERATORS)}}}}}},
        "$defs": definitions,
    }


def _axis(key: Key, single: Schema) -> Schema:
    """Return the schema of a key: one value, and where it is an axis a list of values or a range."""
    if not key.is_axis:
        return single
    ways: list[Schema] = [single, {"type": "array", "items": single, "minItems": 1}]
    if key.takes_range:
        ways.append({"$ref": "#/$defs/range"})
    return {"anyOf": ways}


def _case(operator: str, properties: Schema, keys: Mapping[str, Key], variable: Schema) -> Schema:
    """Return the schema of a case of one operator. Keys that it does not know must be variables."""
    lists = {name: _zipped(schema) for name, schema in properties.items() if "anyOf" in schema}
    anything = {"anyOf": [{"type": "array", "minItems": 1}, {"$ref": "#/$defs/range"}]}
    doc = OPERATORS[operator].params.__doc__ or operator
    return {
        "description": " ".join(doc.split()),
        "type": "object",
        "properties": {
            "operator": {"const": operator},
            "zip": {"type": "object", "minProperties": 1, "properties": lists, "additionalProperties": anything},
            "random": {"$ref": "#/$defs/random"},
            **properties,
        },
        "additionalProperties": variable,
        "allOf": list(_required(keys.values())),
    }


def _zipped(axis: Schema) -> Schema:
    """Return what may stand under `zip` for an axis: everything but a single value."""
    return {"anyOf": axis["anyOf"][1:]} if len(axis["anyOf"]) > 1 else axis


def _required(keys: Iterable[Key]) -> Iterable[Schema]:
    for key in keys:
        if key.required:
            zipped = {"required": ["zip"], "properties": {"zip": {"required": [key.name]}}}
            yield {"anyOf": [{"required": [key.name]}, zipped, {"required": ["random"]}]}


_NUMBERS: Schema = {
    "type": "array",
    "items": {"type": "integer", "minimum": -MAX_WHOLE, "maximum": MAX_WHOLE},
    "minItems": 2,
    "maxItems": 3,
}
_RANGE: Schema = {
    "description": "pow2: [low, high, step] exponents; range: [first, last, step]; log: [first, last, count]. "
    "Both ends belong to it.",
    "type": "object",
    "properties": {"pow2": _NUMBERS, "range": _NUMBERS, "log": {**_NUMBERS, "minItems": 3}},
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}
