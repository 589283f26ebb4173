"""Types of Python as JSON: their schemas, and how to read their values. The host validates a
value against the schema before it reaches a driver, so reading checks only what the types need: their
kind of JSON, the names, and what is missing."""

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from .failures import Faults, InvalidInputs
from .gap import Gap
from .records import Member, below, documented, members, plain, same, written
from .schema import Schema, SchemaError

#: The types of JSON by those that `json` reads, and in words.
NAMES = {
    str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null", list: "array",
    dict: "object",
}
WORDS = {
    "string": "a string", "boolean": "true or false", "integer": "an integer", "number": "a number",
    "null": "null", "array": "a list", "object": "a map",
}
#: JSON numbers in the types that a declaration may ask for. `json` reads the shortest text of a number of
#: 64 bits, and `repr` returns that text.
READ: dict[type, Callable[[Any], Any]] = {int: int, Decimal: lambda number: Decimal(repr(number))}


def matches(value: str, pattern: str) -> bool:
    """Whether a text matches. A pattern that Python does not read is left to the host."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return True


#: What a default has to keep; the host checks the other keywords.
BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value >= bound,
    "maximum": lambda value, bound: value <= bound,
    "exclusiveMinimum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value < bound,
    "minLength": lambda value, bound: len(value) >= bound,
    "maxLength": lambda value, bound: len(value) <= bound,
    "pattern": matches,
    "minItems": lambda value, bound: len(value) >= bound,
    "maxItems": lambda value, bound: len(value) <= bound,
    "minProperties": lambda value, bound: len(value) >= bound,
    "maxProperties": lambda value, bound: len(value) <= bound,
}
#: Keywords of which the first must not be above the second, and how `Schema` calls keywords.
ENDS = [
    ("minimum", "maximum"), ("exclusiveMinimum", "exclusiveMaximum"), ("minLength", "maxLength"),
    ("minItems", "maxItems"), ("minProperties", "maxProperties"),
]
ATTRIBUTES = {one.metadata["keyword"]: one.name for one in fields(Schema) if "keyword" in one.metadata}
SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", Decimal: "number"}
ALLOWED = (
    "str, int, float, bool, Decimal, Any, Literal, an Enum, list[…], dict[str, …], a dataclass, a union of "
    "these, or `… | None`"
)


@dataclass
class Form:
    """A type: its schema, and how to read its values."""

    schema: dict[str, Any]
    convert: Callable[[Any, str, Faults], Any]

    def read(self, value: Any, place: str, faults: Faults) -> Any:
        """The value as Python has it. What does not fit is among the faults, and leaves a gap."""
        return value if isinstance(value, Gap) else self.convert(value, place, faults)


def misfit(place: str, message: str, faults: Faults) -> Gap:
    faults.add(place, message)
    return Gap(place, faults.failure(place, message))


def form(
    hint: Any, where: str, side: str, within: tuple[type, ...] = (), at: str = "part", null: bool = True
) -> Form:
    """The form of a type in the schema of the `inputs` or the `outputs`, `at` a field of a class or in a
    part of one. Without `null`, what may be missing is left out instead."""
    name, hint = hint, plain(hint)
    if name is not hint or is_dataclass(hint):
        if name in within:
            raise SchemaError(where, f"`{name.__name__}` contains itself; write `Any` or `dict[str, Any]` here")
        within += (name,)
    origin, arguments = get_origin(hint), get_args(hint)
    inner = partial(form, where=where, side=side, within=within)
    if origin is Annotated:
        return annotated(form(arguments[0], where, side, within, at, null), arguments[1:], where, side, at)
    if hint in (Any, object):
        return Form({}, lambda value, place, faults: value)
    if hint in SCALARS:
        return scalar(hint)
    if origin is Literal:
        return choice([(one, one) for one in arguments if null or one is not None], where)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return choice([(one.value, one) for one in hint], where)
    if origin in (Union, UnionType):
        forms = [inner(one) for one in arguments if one is not NoneType]
        one = forms[0] if len(forms) == 1 else union(forms, where)
        return nullable(one) if null and NoneType in arguments else one
    if hint is list or origin is list:
        return items(inner(arguments[0] if arguments else Any))
    if hint is dict or origin is dict:
        if arguments and arguments[0] is not str:
            raise SchemaError(where, "the keys of a map are `str`")
        return entries(inner(arguments[1] if arguments else Any))
    if is_dataclass(hint) and isinstance(hint, type):
        return fields_of(hint, side, within)
    raise SchemaError(where, f"`{inspect.formatannotation(hint)}` is no type of JSON; write {ALLOWED}")


def scalar(kind: type) -> Form:
    name = SCALARS[kind]
    read = READ.get(kind, same)

    def convert(value: Any, place: str, faults: Faults) -> Any:
        return read(value) if name in kinds_of(value) else misfit(place, f"has to be {WORDS[name]}", faults)

    return Form({"type": name}, convert)


def kinds_of(value: Any) -> set[str]:
    """The types of JSON that a value has: integers are numbers, and 1.0 is an integer."""
    name = NAMES.get(type(value), "")
    if name == "integer" or (name == "number" and value.is_integer()):
        return {"integer", "number"}
    return {name}


def choice(values: list[tuple[Any, Any]], where: str) -> Form:
    """One of these values of JSON, with what Python has for each."""
    for value, _ in values:
        if type(value) not in (str, int, bool, NoneType):
            raise SchemaError(where, f"`{value!r}` cannot be one of its values: write strings or integers")
    names = list(dict.fromkeys(NAMES[type(value)] for value, _ in values))
    schema = {"type": names[0] if len(names) == 1 else names, "enum": [value for value, _ in values]}
    listed = ", ".join("null" if value is None else f"`{value}`" for value, _ in values)

    def convert(value: Any, place: str, faults: Faults) -> Any:
        for known, meant in values:
            if type(known) is type(value) and known == value:
                return meant
        return misfit(place, f"has to be one of {listed}", faults)

    return Form(schema, convert)


def union(forms: list[Form], where: str) -> Form:
    """One of several types, which differ in their types of JSON."""
    kinds = [kinds_in(one.schema) for one in forms]
    known: set[str] = set()
    for one in kinds:
        one |= {"integer"} if "number" in one else set()
        if not one or known & one:
            raise SchemaError(where, "the types of a union have to differ in JSON, such as `int | str`")
        known |= one
    words = " or ".join(WORDS[name] for name in WORDS if name in known)

    def convert(value: Any, place: str, faults: Faults) -> Any:
        for one, names in zip(forms, kinds):
            if names & kinds_of(value):
                return one.read(value, place, faults)
        return misfit(place, f"has to be {words}", faults)

    return Form({"anyOf": [one.schema for one in forms]}, convert)


def kinds_in(schema: dict[str, Any]) -> set[str]:
    """The types of JSON that a schema allows; none if it allows all."""
    if "anyOf" in schema:
        return set().union(*map(kinds_in, schema["anyOf"]))
    kinds = schema.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(kinds)


def nullable(one: Form) -> Form:
    schema = dict(one.schema)
    if "anyOf" in schema:
        schema["anyOf"] = [*schema["anyOf"], {"type": "null"}]
    elif kinds := kinds_in(schema):
        schema["type"] = [*([schema["type"]] if len(kinds) == 1 else schema["type"]), "null"]
    if "enum" in schema:
        schema["enum"] = [*schema["enum"], None]
    return Form(schema, lambda value, *rest: None if value is None else one.read(value, *rest))


def items(one: Form) -> Form:
    def convert(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, list):
            return misfit(place, "has to be a list", faults)
        return [one.read(item, f"{place}/{index}", faults) for index, item in enumerate(value)]

    return Form({"type": "array", **({"items": one.schema} if one.schema else {})}, convert)


def entries(one: Form) -> Form:
    def convert(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return misfit(place, "has to be a map", faults)
        return {name: one.read(entry, below(place, name), faults) for name, entry in value.items()}

    return Form({"type": "object", **({"additionalProperties": one.schema} if one.schema else {})}, convert)


def fields_of(cls: type, side: str, within: tuple[type, ...] = ()) -> Form:
    """The form of a dataclass: a map that has these names and no others."""
    forms = [(one, member(cls, one, side, within)) for one in members(cls)]
    # An output that may be missing is left out; any other is written, with its default.
    given = [one for one, _ in forms if side == "outputs" or one.default is None]
    required = [one.name for one in given if not one.optional]
    schema: dict[str, Any] = {"type": "object"}
    if documentation := documented(cls):
        schema["description"] = documentation
    if required:
        schema["required"] = required
    schema |= {"additionalProperties": False, "properties": {one.name: its.schema for one, its in forms}}
    names = [one.name for one, _ in forms]

    def convert(value: Any, place: str, faults: Faults) -> Any:
        if not isinstance(value, dict):
            return misfit(place, "has to be a map", faults)
        for name in value:
            if name not in names:
                faults.add(below(place, name), f"is unknown; the names are {', '.join(names) or 'none'}")
        given: dict[str, Any] = {}
        for one, its in forms:
            at = below(place, one.name)
            if one.name in value:
                given[one.attribute] = its.read(value[one.name], at, faults)
            elif one.default is None:
                given[one.attribute] = None if one.optional else misfit(at, "is missing", faults)
        try:
            return cls(**given)
        except InvalidInputs as fault:
            return Gap(place, fault)
        except ValueError as error:
            return misfit(place, str(error), faults)

    return Form(schema, convert)


def member(cls: type, one: Member, side: str, within: tuple[type, ...]) -> Form:
    """The form of a field, with its default."""
    where = f"{cls.__qualname__}.{one.attribute}"
    its = form(one.hint, where, side, within, "field", null=side == "inputs")
    if one.default is None:
        return its
    meant, faults = one.default(), Faults()
    if meant is None and one.optional:
        return its
    default = written(meant)
    if "default" in its.schema:
        raise SchemaError(where, "`default` is said twice")
    read = its.read(default, "", faults)
    if faults or read != meant:
        raise SchemaError(where, f"its default `{meant!r}` does not have its type")
    check_bounds(default, its.schema, where)
    if one.assumed:
        shown = default if isinstance(default, str) else json.dumps(default, ensure_ascii=False)
        text = f"{its.schema.get('description', '')} By default `{shown}`."
        return Form(its.schema | {"description": text.strip()}, its.convert)
    return its if side == "outputs" or default is None else Form(its.schema | {"default": default}, its.convert)


def annotated(one: Form, says: tuple[Any, ...], where: str, side: str, at: str) -> Form:
    """A form with the keywords that `Annotated` adds."""
    schema = dict(one.schema)
    for its in says:
        if not isinstance(its, Schema):
            raise SchemaError(where, f"`{its!r}` says nothing in a schema; write `Schema(…)`")
        if at != "field" and (its.name is not None or its.assumed):
            raise SchemaError(where, "only a field has `name` and `assumed`; write them around its whole type")
        if at != "root" and its.outputs is not None:
            raise SchemaError(where, "`outputs` is about all outputs, as in `Annotated[OUTPUTS, Schema(…)]`")
        for field in fields(Schema):
            value, name = getattr(its, field.name), field.metadata.get("keyword")
            if name is None or value is None or value is False:
                continue
            types, of = field.metadata["types"], field.metadata["of"]
            if of not in (None, side):
                raise SchemaError(where, f"`{field.name}` is about {of}, not about {side}")
            kinds = kinds_in(schema)
            if types and kinds and not kinds & set(types):
                raise SchemaError(where, f"`{field.name}` is about {WORDS[types[-1]]}, which this is not")
            schema[name] = list(value) if name in ("examples", "x-purlin-methods") else value
        for name, value in (its.more or {}).items():
            if name in schema:
                raise SchemaError(where, f"`{name}` is said twice")
            schema[name] = value
    for least, most in ENDS:
        if least in schema and most in schema and schema[least] > schema[most]:
            raise SchemaError(where, f"`{ATTRIBUTES[least]}` is above `{ATTRIBUTES[most]}`, so that nothing fits")
    for name, needs in (("x-purlin-port", "tcp"), ("x-purlin-methods", "http")):
        if name in schema and schema.get("x-purlin-reaches") != needs:
            raise SchemaError(where, f"`{name.rpartition('-')[2]}` needs `reaches=\"{needs}\"`")
    for example in schema.get("examples", []):
        faults = Faults()
        one.read(example, "", faults)
        if faults:
            raise SchemaError(where, f"its example `{example!r}` {faults[0][1]}")
        check_bounds(example, schema, where)
    return Form(schema, one.convert)


def check_bounds(value: Any, schema: dict[str, Any], where: str) -> None:
    for field in fields(Schema):
        name, types = field.metadata.get("keyword"), field.metadata.get("types", ())
        if name in BOUNDS and name in schema and kinds_of(value) & set(types):
            if not BOUNDS[name](value, schema[name]):
                raise SchemaError(where, f"`{value!r}` does not keep its `{field.name}` {schema[name]!r}")
