"""Dataclasses as maps of JSON: what their fields say, and how to write their values."""

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, MISSING, dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from .failures import Failure
from .gap import Gap, UnknownValue, is_unknown
from .schema import Schema, SchemaError


@dataclass(frozen=True)
class Member:
    """A field of a class."""

    attribute: str
    #: In JSON.
    name: str
    hint: Any
    default: Callable[[], Any] | None
    assumed: bool
    optional: bool

    def is_default(self, value: Any) -> bool:
        try:
            return self.default is not None and bool(written(value) == written(self.default()))
        except (UnknownValue, Failure):
            # A part of it is not there.
            return False


def plain(hint: Any) -> Any:
    """A type behind its names: `type Name = …` and `NewType`."""
    while (meant := getattr(hint, "__value__", getattr(hint, "__supertype__", hint))) is not hint:
        hint = meant
    return hint


def said(hint: Any) -> list[Schema]:
    """What `Annotated` says of a type."""
    hint = plain(hint)
    if get_origin(hint) is not Annotated:
        return []
    return said(get_args(hint)[0]) + [one for one in get_args(hint)[1:] if isinstance(one, Schema)]


def takes_none(hint: Any) -> bool:
    hint = plain(hint)
    match get_origin(hint):
        case None:
            return hint is NoneType
        case origin if origin is Annotated:
            return takes_none(get_args(hint)[0])
        case origin if origin in (Union, UnionType):
            return any(map(takes_none, get_args(hint)))
        case origin if origin is Literal:
            return None in get_args(hint)
    return False


@cache
def members(cls: type) -> tuple[Member, ...]:
    """The fields of a dataclass. Whatever else its text says would be lost, and is an error."""
    if not is_dataclass(cls):
        raise SchemaError(cls.__qualname__, "is no dataclass; write `@dataclass` above it")
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception as error:
        place = "; it has to be at the top of the module" if isinstance(error, NameError) else ""
        raise SchemaError(cls.__qualname__, f"its types cannot be read: {error}{place}") from error
    found: list[Member] = []
    for field in fields(cls):
        where = f"{cls.__qualname__}.{field.name}"
        if not field.init:
            raise SchemaError(where, "is read from JSON; remove `init=False`")
        default = None if field.default_factory is MISSING else field.default_factory
        if field.default is not MISSING:
            default = partial(same, field.default)
        hint = hints.pop(field.name)
        schemas = said(hint)
        names = [one.name for one in schemas if one.name is not None]
        assumed = any(one.assumed for one in schemas)
        if assumed and default is None:
            raise SchemaError(where, "has no default that could be assumed")
        name = names[-1] if names else field.name
        if any(name == one.name for one in found):
            raise SchemaError(where, f"another field is called `{name}` in JSON, too")
        found.append(Member(field.name, name, hint, default, assumed, takes_none(hint)))
    known = {field.name for field in fields(cls)}
    for name, hint in hints.items():
        if hint not in (ClassVar, KW_ONLY) and get_origin(hint) is not ClassVar:
            what = "is no field that JSON has; is `@dataclass` missing above its class?"
            raise SchemaError(f"{cls.__qualname__}.{name}", what)
    for one in cls.__mro__[:-1]:
        for name, value in vars(one).items():
            is_field = name in known or name in hints or name.startswith("_")
            if not is_field and not callable(value) and not hasattr(value, "__get__"):
                what = "has no type; write `NAME: TYPE = …`, or `ClassVar` as its type"
                raise SchemaError(f"{one.__qualname__}.{name}", what)
    return tuple(found)


def same(value: Any) -> Any:
    return value


def documented(cls: type) -> str | None:
    """The docstring, if the author wrote one: `dataclass` writes a signature."""
    text = cls.__dict__.get("__doc__")
    if not isinstance(text, str) or text.startswith(f"{cls.__name__}("):
        return None
    return inspect.cleandoc(text)


def written(value: Any, before: Any = None, place: str | None = None) -> Any:
    """A value as JSON. `before` is the JSON that it was read from, if any: a default that is not there stays
    out. With a `place`, what is unknown there is null."""
    if isinstance(value, Gap):
        if place is not None and is_unknown(value) and f"{place}/".startswith(f"{value._pointer}/"):
            return None
        raise value._fault
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Decimal):
        number = int(value) if value == value.to_integral_value() else float(value)
        if Decimal(repr(number)) != value:
            raise ValueError(f"JSON cannot keep the number {value}; return it as text")
        return number
    if isinstance(value, (list, tuple)):
        olds = before if isinstance(before, list) else []
        rest = [None] * (len(value) - len(olds))
        pairs = zip(value, [*olds, *rest])
        return [written(item, old, within(place, str(index))) for index, (item, old) in enumerate(pairs)]
    old: dict[str, Any] = before if isinstance(before, dict) else {}
    if isinstance(value, dict):
        if not all(isinstance(name, str) for name in value):
            raise TypeError("the keys of a map in JSON are `str`")
        return {name: written(entry, old.get(name), within(place, name)) for name, entry in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"`{type(value).__qualname__}` is no type of JSON")
    given = {}
    for one in members(type(value)):
        its = getattr(value, one.attribute)
        if isinstance(its, Gap):
            # What a record does not have stays out.
            is_out = not is_unknown(its)
        elif its is None:
            is_out = one.default is None or one.default() is None
        else:
            is_added = isinstance(before, dict) and one.name not in old
            is_out = (one.assumed or is_added) and one.is_default(its)
        if not is_out:
            given[one.name] = written(its, old.get(one.name), within(place, one.name))
    return given


def below(place: str, name: str) -> str:
    """The pointer of a name within a place."""
    return f"{place}/{name.replace('~', '~0').replace('/', '~1')}"


def unescaped(part: str) -> str:
    """A name that is a part of a pointer."""
    return part.replace("~1", "/").replace("~0", "~")


def within(place: str | None, name: str) -> str | None:
    return None if place is None else below(place, name)
