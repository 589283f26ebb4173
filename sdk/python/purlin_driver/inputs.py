"""The inputs of a type of resources, and its outputs: both are declared as dataclasses."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin

from .failures import Failed, Failure, Faults
from .forms import Form, annotated, form
from .gap import Gap, UnknownValue
from .records import below, documented, members, unescaped, written
from .schema import SchemaError

#: What a schema of inputs describes.
GROUPS = ("values", "secrets", "params", "connection", "account")

Self = TypeVar("Self", bound="Inputs")


@dataclass(kw_only=True)
class Inputs:
    """The base class of inputs. A subclass has those of the fields `values`, `secrets`, `params`, `connection`
    and `account` that the driver reads, and the type of each is a dataclass, or `dict[str, …]` for any names.

    In `check`, `update_impact` and `preview`, a value may be unknown: `is_unknown` tells, and any other use
    of it raises `UnknownValue`. In `read` and `delete`, in `previous` and in `before`, the inputs are recorded,
    perhaps by an earlier version of the driver: a use of a value that is missing there, or has another type,
    raises `InvalidInputs`; `document` has it.
    `document["account"]` has the name of the account, if the definition names one, also without the field.
    """

    #: Places that are unknown, and places outside of `secrets` that hold secrets, as pointers.
    unknown: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    #: All of it as JSON.
    document: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(
        cls: type[Self], document: dict[str, Any], unknown: Iterable[str] = (), sensitive: Iterable[str] = (),
        *, recorded: bool = False,
    ) -> Self:
        """Reads `{"values": …, "secrets": …, "params": …, "connection": …, "account": …}`. Raises
        `InvalidInputs` with all faults, except of inputs that are `recorded`."""
        places, faults = list(unknown), Faults()
        marked = with_gaps(document, places)
        groups = inputs_form(cls).groups.items()
        given: dict[str, Any] = {
            name: one.read(marked.get(name, {}), f"/{name}", faults) for name, one in groups
        }
        if not recorded:
            faults.check()
        return cls(**given, unknown=places, sensitive=list(sensitive), document=document)


def with_gaps(document: dict[str, Any], unknown: list[str]) -> dict[str, Any]:
    """The document with gaps in the places that are unknown."""
    if not unknown:
        return document
    document = copy.deepcopy(document)
    for pointer in unknown:
        *parents, last = map(unescaped, pointer.split("/")[1:])
        place: Any = document
        for part in parents:
            place = place[int(part) if isinstance(place, list) else part]
        place[int(last) if isinstance(place, list) else last] = Gap(pointer, UnknownValue(pointer))
    return document


@dataclass(frozen=True)
class InputsForm:
    """The class of inputs, their schema, and the form of each group."""

    kind: type[Inputs]
    schema: dict[str, Any]
    groups: dict[str, Form]

    def checked(self, given: Inputs, result: Inputs, group: str) -> Any:
        """A group of a result of `check` as JSON. Defaults that were not given stay out."""
        before = given.document.get(group, {})
        return written(getattr(result, group), before, f"/{group}") if group in self.groups else before

    def observed(self, given: Inputs, values: Any) -> dict[str, Any]:
        """Values that reality has, as JSON: all of them, or those in a dict, by their names in JSON."""
        document = written(values, given.document.get("values", {}))
        if not isinstance(document, dict):
            raise TypeError(f"values are of their class, or a dict, not `{type(values).__qualname__}`")
        # A `dict[str, …]` takes any names.
        known = self.groups["values"].schema.get("properties", document) if "values" in self.groups else {}
        for name in document:
            if name not in known:
                raise ValueError(f"`{below('/values', name)}` is no input; these are {', '.join(known)}")
        return document


def inputs_form(kind: Any) -> InputsForm:
    """The form of a class of inputs, perhaps in `Annotated`."""
    return made_inputs_form(kind)


@cache
def made_inputs_form(kind: Any) -> InputsForm:
    cls = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if not (isinstance(cls, type) and Inputs in cls.__mro__):
        raise SchemaError(getattr(cls, "__qualname__", str(cls)), "is no subclass of `Inputs`")
    own, groups = {one.name for one in fields(Inputs)}, {}
    redefined = own - {one.name for one in fields(cls) if one in fields(Inputs)}
    for one in members(cls):
        where = f"{cls.__qualname__}.{one.attribute}"
        if one.attribute in own:
            if one.attribute in redefined:
                raise SchemaError(where, "is a field of `Inputs` already")
            continue
        if one.name not in GROUPS or one.name != one.attribute:
            raise SchemaError(where, f"is no group of inputs; these are {', '.join(GROUPS)}")
        groups[one.name] = form(one.hint, where, "inputs", (cls,))
        if groups[one.name].schema.get("type") != "object":
            raise SchemaError(where, "a group is a dataclass or `dict[str, …]`, and always there")
    schema: dict[str, Any] = {"type": "object"}
    if (documentation := documented(cls)) and cls is not Inputs:
        schema["description"] = documentation
    if required := [name for name, one in groups.items() if "required" in one.schema]:
        schema["required"] = required
    if groups:
        schema["properties"] = {name: one.schema for name, one in groups.items()}
    whole = Form(schema, lambda value, *_: value)
    says = get_args(kind)[1:] if cls is not kind else ()
    return InputsForm(cls, annotated(whole, says, cls.__qualname__, "inputs", "root").schema, groups)


class Lost(Faults):
    """Faults of a record's outputs, which a person cannot correct in the inputs."""

    def failure(self, pointer: str, message: str) -> Failure:
        return Failed(f"the record of the resource is of another version of the driver: `{pointer}` {message}")


@dataclass(frozen=True)
class OutputsForm:
    """The form of outputs, and the names of those that are declared to be secret."""

    kind: Any
    form: Form
    secrets: frozenset[str]

    def read(
        self, outputs: dict[str, Any], secrets: dict[str, Any], sensitive: Iterable[str]
    ) -> tuple[Any, list[str]]:
        """Outputs of a record, and its places that are secret besides what is declared."""
        found = [below("/outputs", name) for name in secrets if name not in self.secrets]
        return self.form.read(outputs | secrets, "/outputs", Lost()), [*sensitive, *found]

    def split(
        self, outputs: Any, sensitive: Iterable[str]
    ) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """Plain outputs of a state, secret ones, and the places within the plain ones that are secret."""
        if not isinstance(outputs, (self.kind, Gap)):
            raise TypeError(f"outputs are `{self.kind.__qualname__}`, not `{type(outputs).__qualname__}`")
        return self.apart({} if outputs is None else written(outputs), sensitive)

    def certain(
        self, outputs: Any, sensitive: Iterable[str]
    ) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """The same of a forecast, whose outputs may also be a dict of those that are certain, by their names
        in JSON, or `None`."""
        outputs = {} if outputs is None else outputs
        if not isinstance(outputs, dict):
            return self.split(outputs, sensitive)
        known = self.form.schema.get("properties", {})
        for name in outputs:
            if name not in known and self.kind is not dict:
                raise ValueError(f"`{below('/outputs', name)}` is no output; these are {', '.join(known)}")
        return self.apart(written(outputs), sensitive)

    def apart(
        self, document: dict[str, Any], sensitive: Iterable[str]
    ) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
        """Takes the secret outputs out of a document."""
        secret, places = set(self.secrets), []
        for place in sensitive:
            match place.split("/"):
                case ["", "outputs", name] if unescaped(name) in document or unescaped(name) in secret:
                    secret.add(unescaped(name))
                case _:
                    # The host hides all outputs if there is no such place.
                    places.append(place)
        hidden = {name: document.pop(name) for name in secret if name in document}
        # What is below a secret output is secret already.
        above = tuple(below("/outputs", name) + "/" for name in secret)
        return document, hidden, [place for place in places if not place.startswith(above)]

    def places(self, pointer: str, sensitive: Iterable[str]) -> list[str]:
        """A place in the outputs, as the contract has it: it keeps apart those that are secret as a whole."""
        known = self.form.schema.get("properties", {})
        match pointer.split("/"):
            case ["", "outputs"]:
                return [pointer, "/secrets"]
            case ["", "outputs", name, *_] if self.kind is dict or unescaped(name) in known:
                is_secret = unescaped(name) in self.secrets or f"/outputs/{name}" in sensitive
                return [f"/secrets{pointer.removeprefix('/outputs')}" if is_secret else pointer]
        names = ", ".join(below("/outputs", name) for name in known)
        raise ValueError(f"`{pointer}` is no output; these are {names}")


@cache
def outputs_form(kind: Any) -> OutputsForm:
    """The form of outputs, perhaps in `Annotated`."""
    cls = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    origin, where = get_origin(cls) or cls, getattr(cls, "__qualname__", str(cls))
    if origin in (None, NoneType):
        one = Form({"type": "object", "additionalProperties": False}, lambda *_: None)
    elif origin is dict or is_dataclass(origin):
        one = form(cls, where, "outputs")
    else:
        raise SchemaError(where, "outputs are a dataclass, `dict[str, …]`, or `None`")
    says = get_args(kind)[1:] if cls is not kind else ()
    one = annotated(one, says, where, "outputs", "root")
    properties = one.schema.get("properties", {}).items()
    secrets = frozenset(name for name, its in properties if its.get("writeOnly") or its.get("x-secret"))
    return OutputsForm(NoneType if origin is None else origin, one, secrets)
