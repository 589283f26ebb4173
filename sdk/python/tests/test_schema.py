"""Schemas that come from classes, and what a declaration cannot say."""

import unittest
from dataclasses import KW_ONLY, InitVar, dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, ClassVar, Generic, Literal, NewType, Optional, TypeVar, Union

from purlin_driver import (
    CreateRequest, DeleteRequest, Inputs, ResourceType, Schema, SchemaError, State
)
from purlin_driver.inputs import inputs_form, outputs_form

T = TypeVar("T")
I = TypeVar("I", bound=Inputs)
Name = Annotated[str, Schema(pattern="^[a-z]+$", max_length=63)]
Alias = NewType("Alias", str)


class Engine(Enum):
    PLAIN = "plain"
    MEMORY = "in-memory"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Disk:
    """A disk.

    It spins."""

    kind: Annotated[str, Schema("What it is.", name="class", replaces=True)]
    gib: int = 5


@dataclass
class Values:
    SOME: ClassVar[int] = 7
    name: Annotated[Name, Schema("Its name.", examples=["shop"], replaces=True)]
    alias: Alias
    free: Any
    _: KW_ONLY
    engine: Annotated[Engine | None, Schema(immutable=True)] = None
    level: Level = Level.LOW
    size: Annotated[int, Schema("Gibibytes.", minimum=1, exclusive_maximum=65)] = 10
    share: float = 0.5
    price: Decimal = Decimal("0.1")
    big: int = 2**64 - 1
    on: bool = False
    disks: list[Disk] = field(default_factory=list)
    main: Optional[Disk] = None
    region: Literal["eu", "us"] = "eu"
    wait: Annotated[int, Schema("How long to wait.", assumed=True)] = 30
    port: Annotated[int | str | None, Schema(more={"x-purlin-hint-colour": "red"})] = None
    names: list[Name | None] = field(default_factory=lambda: ["a"])
    labels: dict[str, Annotated[str, Schema(min_length=1)]] = field(default_factory=dict)
    any_list: Annotated[list, Schema(max_items=3, unique_items=True)] = field(default_factory=list)
    ünï: Annotated[str | None, Schema("Größe", name="grö/ße ~ 🎉")] = None


@dataclass
class Plain:
    a: int = 1


@dataclass
class Secrets:
    password: str | None


@dataclass
class Connection:
    """How to get there."""

    server: Annotated[str, Schema(reaches="http", methods=["GET"], replaces=True)]
    token: Annotated[str, Schema(secret=True)]


@dataclass
class Account:
    region: str
    token: Annotated[str | None, Schema(secret=True)]


@dataclass
class StoreInputs(Inputs):
    values: Annotated[Values, Schema(holds_data="every table")]
    secrets: Secrets
    params: dict[str, Any]
    connection: Annotated[Connection, Schema("The server.")]
    account: Account


@dataclass
class StoreOutputs:
    host: str
    disk: Plain | None
    token: Annotated[str | None, Schema(secret=True, write_once=True)] = None
    count: int = 0
    rest: list[int | None] = field(default_factory=list)


class Declared(unittest.TestCase):
    maxDiff = None

    def test_inputs_are_described_by_their_classes(self):
        disk = {
            "type": "object", "description": "A disk.\n\nIt spins.", "required": ["class"],
            "additionalProperties": False,
            "properties": {
                "class": {"type": "string", "description": "What it is.", "x-purlin-replaces": True},
                "gib": {"type": "integer", "default": 5},
            },
        }
        name = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 63}
        properties = {
            "name": {**name, "description": "Its name.", "examples": ["shop"], "x-purlin-replaces": True},
            "alias": {"type": "string"},
            "free": {},
            "engine": {
                "type": ["string", "null"], "enum": ["plain", "in-memory", None], "x-purlin-immutable": True,
            },
            "level": {"type": "integer", "enum": [1, 2], "default": 1},
            "size": {
                "type": "integer", "description": "Gibibytes.", "minimum": 1, "exclusiveMaximum": 65,
                "default": 10,
            },
            "share": {"type": "number", "default": 0.5},
            "price": {"type": "number", "default": 0.1},
            "big": {"type": "integer", "default": 18446744073709551615},
            "on": {"type": "boolean", "default": False},
            "disks": {"type": "array", "items": disk, "default": []},
            "main": {**disk, "type": ["object", "null"]},
            "region": {"type": "string", "enum": ["eu", "us"], "default": "eu"},
            "wait": {"type": "integer", "description": "How long to wait. By default `30`."},
            "port": {
                "anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}],
                "x-purlin-hint-colour": "red",
            },
            "names": {"type": "array", "items": {**name, "type": ["string", "null"]}, "default": ["a"]},
            "labels": {
                "type": "object", "additionalProperties": {"type": "string", "minLength": 1}, "default": {},
            },
            "any_list": {"type": "array", "maxItems": 3, "uniqueItems": True, "default": []},
            "grö/ße ~ 🎉": {"type": ["string", "null"], "description": "Größe"},
        }
        server = {
            "type": "string", "x-purlin-reaches": "http", "x-purlin-methods": ["GET"],
            "x-purlin-replaces": True,
        }
        self.assertEqual(inputs_form(StoreInputs).schema, {
            "type": "object",
            "required": ["values", "connection", "account"],
            "properties": {
                "values": {
                    "type": "object", "required": ["name", "alias", "free"], "additionalProperties": False,
                    "x-purlin-holds-data": "every table", "properties": properties,
                },
                "secrets": {
                    "type": "object", "additionalProperties": False,
                    "properties": {"password": {"type": ["string", "null"]}},
                },
                "params": {"type": "object"},
                "connection": {
                    "type": "object", "description": "The server.", "required": ["server", "token"],
                    "additionalProperties": False,
                    "properties": {"server": server, "token": {"type": "string", "writeOnly": True}},
                },
                "account": {
                    "type": "object", "required": ["region"], "additionalProperties": False,
                    "properties": {
                        "region": {"type": "string"}, "token": {"type": ["string", "null"], "writeOnly": True},
                    },
                },
            },
        })
        self.assertEqual(inputs_form(Inputs).schema, {"type": "object"})
        lost = inputs_form(Annotated[Inputs, Schema("It.", holds_data=True)]).schema
        self.assertEqual(lost, {"type": "object", "description": "It.", "x-purlin-holds-data": True})

    def test_outputs_are_described_by_their_class(self):
        form = outputs_form(StoreOutputs).form
        self.assertEqual(form.schema["required"], ["host", "count", "rest"])
        self.assertEqual(form.schema["properties"]["disk"]["type"], "object")
        self.assertEqual(form.schema["properties"]["token"], {
            "type": "string", "writeOnly": True, "x-purlin-write-once": True
        })
        # What is returned is never filled in.
        self.assertEqual(form.schema["properties"]["count"], {"type": "integer"})
        items = {"type": ["integer", "null"]}
        self.assertEqual(form.schema["properties"]["rest"], {"type": "array", "items": items})
        self.assertEqual(outputs_form(None).form.schema, {"type": "object", "additionalProperties": False})
        computed = outputs_form(Annotated[dict[str, int], Schema(outputs="computed")]).form.schema
        self.assertEqual(computed, {
            "type": "object", "additionalProperties": {"type": "integer"}, "x-purlin-outputs": "computed"
        })

    def test_a_class_may_extend_another_one(self):
        @dataclass
        class More(Plain):
            b: int = 1

        self.assertEqual(list(outputs_form(More).form.schema["properties"]), ["a", "b"])


class Type(ResourceType[I, StoreOutputs], Generic[I, T]):
    def create(self, request: CreateRequest[I]) -> State[StoreOutputs]:
        raise NotImplementedError

    def delete(self, request: DeleteRequest[I, StoreOutputs]) -> None:
        pass


class Types(unittest.TestCase):
    def test_a_type_names_its_inputs_and_outputs(self):
        class Store(Type[StoreInputs, int]):
            TYPE = "store"

        class Other(Store):
            TYPE = "other"

        for one in (Store, Other):
            self.assertIs(one.inputs_form.kind, StoreInputs)
            self.assertIs(one.outputs_form.kind, StoreOutputs)
        self.assertFalse(hasattr(Type, "inputs_form"))
        with self.assertRaisesRegex(SchemaError, "name its inputs and outputs"):
            type("Unnamed", (ResourceType,), {})

        class Empty(ResourceType[Inputs, None]):
            """It has neither `create` nor `delete`."""

        with self.assertRaisesRegex(TypeError, "abstract"):
            Empty()


def inputs(**types: Any) -> Any:
    """A class of inputs with these values, as `(type,)` or `(type, default)`."""
    given = {name: one[1] for name, one in types.items() if len(one) > 1}
    names = {name: one[0] for name, one in types.items()}
    values = dataclass(kw_only=True)(type("Values", (), {"__annotations__": names, **given}))
    return dataclass(kw_only=True)(type("It", (Inputs,), {"__annotations__": {"values": values}}))


@dataclass
class Tree:
    children: "list[Tree]"


@dataclass
class Lost:
    other: "Nowhere"  # noqa: F821


class Bare(Disk):
    more: int


class Wrong(unittest.TestCase):
    def refused(self, message: str, **types: Any) -> None:
        with self.assertRaises(SchemaError) as refused:
            inputs_form(inputs(**types))
        self.assertIn(message, str(refused.exception))

    def test_a_type_that_json_does_not_have(self):
        for wrong in (bytes, set[str], tuple[int, str], complex, type[int], Generic, Disk | Values, int | float):
            self.refused("`Values.a`: ", a=(wrong,))
        self.refused("`Values.a`: `bytes` is no type of JSON; write str, int,", a=(list[bytes],))
        self.refused("the keys of a map are `str`", a=(dict[int, str],))
        self.refused("the types of a union have to differ", a=(Union[str, Name, None],))
        self.refused("cannot be one of its values", a=(Literal[b"a"],))
        self.refused("cannot be one of its values", a=(Enum("E", {"A": (1, 2)}),))
        self.refused("`Tree.children`: `Tree` contains itself", a=(Tree,))
        self.refused("`Lost`: its types cannot be read: name 'Nowhere' is not defined; it has to be at the top", a=(
            Lost,
        ))
        with self.assertRaisesRegex(TypeError, "minimun"):
            Schema(minimun=1)

    def test_what_would_be_lost(self):
        self.refused("`Bare.more`: is no field that JSON has; is `@dataclass` missing", a=(Bare,))
        self.refused("`Values.a`: is no field that JSON has", a=(InitVar[int],))
        self.refused("`Values.a`: `'text'` says nothing in a schema", a=(Annotated[str, "text"],))
        self.refused("`Values.a`: is read from JSON; remove `init=False`", a=(int, field(init=False)))
        self.refused("another field is called `b` in JSON, too", b=(int,), a=(Annotated[int, Schema(name="b")],))
        self.refused("only a field has `name`", a=(Annotated[str, Schema(name="b")] | None,))
        self.refused("only a field has `name`", a=(list[Annotated[str, Schema(name="b")]],))
        self.refused("has no default that could be assumed", a=(Annotated[int, Schema(assumed=True)],))
        self.refused("`type` is said twice", a=(Annotated[int, Schema(more={"type": "string"})],))
        with self.assertRaisesRegex(SchemaError, "`Untyped.size`: has no type"):
            outputs_form(dataclass(type("Untyped", (), {"size": 3})))

    def test_bounds_that_nothing_keeps(self):
        for kind, least, most in [
            (int, "minimum", "maximum"), (float, "exclusive_minimum", "exclusive_maximum"),
            (str, "min_length", "max_length"), (list[int], "min_items", "max_items"),
            (dict[str, int], "min_properties", "max_properties"),
        ]:
            self.refused(f"`Values.a`: `{least}` is above `{most}`, so that nothing fits", a=(
                Annotated[kind, Schema(**{least: 2, most: 1})],
            ))
            inputs_form(inputs(a=(Annotated[kind, Schema(**{least: 1, most: 1})],)))

    def test_a_default_keeps_its_pattern(self):
        self.refused("`Values.a`: `'RW'` does not keep its `pattern` '^[a-z]+$'", a=(
            Annotated[str, Schema(pattern="^[a-z]+$")], "RW",
        ))
        inputs_form(inputs(a=(Annotated[str, Schema(pattern="^[a-z]+$")], "rw")))
        # Python does not read it; the host does.
        inputs_form(inputs(a=(Annotated[str, Schema(pattern=r"^\p{L}+$")], "größe")))

    def test_a_keyword_in_the_wrong_place(self):
        self.refused("`Values.a`: `max_length` is about a string, which this is not", a=(
            Annotated[int, Schema(max_length=3)],
        ))
        self.refused("`minimum` is about a number", a=(Annotated[str | None, Schema(minimum=3)],))
        self.refused("`write_once` is about outputs, not about inputs", a=(Annotated[str, Schema(write_once=True)],))
        self.refused("`methods` needs `reaches=\"http\"`", a=(Annotated[str, Schema(methods=["GET"])],))
        self.refused("`port` needs `reaches=\"tcp\"`", a=(Annotated[str, Schema(reaches="http", port=1)],))
        for schema in (Schema(replaces=True), Schema(immutable=True), Schema(holds_data=True)):
            with self.assertRaisesRegex(SchemaError, "about inputs, not about outputs"):
                outputs_form(Annotated[dict, schema])
        out = dataclass(type("Out", (), {"__annotations__": {"a": Annotated[str, Schema(outputs="inputs")]}}))
        with self.assertRaisesRegex(SchemaError, "`Out.a`: `outputs` is about all outputs"):
            outputs_form(out)

    def test_a_default_that_does_not_fit(self):
        self.refused("`Values.a`: its default `'x'` does not have its type", a=(int, "x"))
        self.refused("its default `None` does not have its type", a=(int, None))
        self.refused("its default `True` does not have its type", a=(int, True))
        self.refused("its default `'plain'` does not have its type", a=(Engine, "plain"))
        self.refused("`0` does not keep its `minimum` 1", a=(Annotated[int, Schema(minimum=1)], 0))
        self.refused("`'abc'` does not keep its `max_length` 2", a=(
            Annotated[int | str, Schema(minimum=1, max_length=2)], "abc"
        ))
        self.refused("its example `7` has to be a string", a=(Annotated[str, Schema(examples=[7])],))
        self.refused("`'a'` does not keep its `min_length` 2", a=(
            Annotated[str, Schema(examples=["a"], min_length=2)],
        ))
        with self.assertRaisesRegex(ValueError, "mutable default"):
            inputs(a=(list[int], []))

    def test_a_class_that_does_not_have_its_shape(self):
        group = lambda **types: dataclass(type("It", (Inputs,), {"__annotations__": types}))
        for message, kind in [
            ("`It.value`: is no group of inputs; these are values, secrets, params, connection, account", group(value=Disk)),
            ("`It.values`: a group is a dataclass or `dict[str, …]`", group(values=Disk | None)),
            ("`It.values`: a group is a dataclass or `dict[str, …]`", group(values=str)),
            ("`It.account`: a group is a dataclass or `dict[str, …]`", group(account=str)),
            ("`It.unknown`: is a field of `Inputs` already", group(unknown=dict[str, Any])),
            ("`It.values`: is no field that JSON has", type("It", (Inputs,), {"__annotations__": {"values": Disk}})),
            ("`Disk`: is no subclass of `Inputs`", Disk),
        ]:
            with self.assertRaises(SchemaError) as refused:
                inputs_form(kind)
            self.assertIn(message, str(refused.exception))
        for kind in (str, list[str], Any):
            with self.assertRaisesRegex(SchemaError, "outputs are a dataclass"):
                outputs_form(kind)


if __name__ == "__main__":
    unittest.main()
