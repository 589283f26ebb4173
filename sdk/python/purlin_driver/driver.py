"""The base classes of a driver and of its types."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args, get_origin

from .failures import Failed
from .inputs import InputsForm, OutputsForm, inputs_form, outputs_form
from .preview import Effect, Forecast
from .requests import (
    Change, Checked, CheckRequest, CreateRequest, DeleteRequest, I, Impact, NameRequest, O, Observed,
    ReadRequest, State
)
from .schema import SchemaError

#: The functions that a type need not have.
OPTIONAL = ("check", "name", "read", "update_impact", "update")


@dataclass
class RequestedCapability:
    """A capability that the driver requests; the operator grants. Without a pattern, the inputs decide."""

    capability: str
    reason: str
    pattern: str | None = None


class ResourceType(ABC, Generic[I, O]):
    """The life of the resources of one type, with the class of its inputs and that of its outputs:
    `class Bucket(ResourceType[BucketInputs, BucketOutputs])`. Every type has `create` and `delete`; the host
    works without the others that it does not override: wit/types.wit says how."""

    #: The provisioned type, or `*` for every other one.
    TYPE: str
    #: A promise: `create`, called again with the same idempotency key, creates nothing twice.
    REPEAT_CREATE = False
    inputs_form: InputsForm
    outputs_form: OutputsForm

    def __init_subclass__(cls, **rest: Any):
        super().__init_subclass__(**rest)
        inputs, outputs = described(cls)
        if not isinstance(inputs, TypeVar) and not isinstance(outputs, TypeVar):
            cls.inputs_form, cls.outputs_form = inputs_form(inputs), outputs_form(outputs)

    def check(self, request: CheckRequest[I]) -> Checked[I]:
        """Validates what the schema cannot say, chooses and normalises. Inputs may be unknown."""
        raise NotImplementedError

    def name(self, request: NameRequest[I]) -> str:
        """The friendly name of the real object."""
        raise NotImplementedError

    @abstractmethod
    def create(self, request: CreateRequest[I]) -> State[O]:
        """Creates the resource, or nothing at all."""

    def read(self, request: ReadRequest[I, O]) -> Observed[O] | None:
        """The existing resource; none only if there is certainly nothing."""
        raise NotImplementedError

    def update_impact(self, change: Change[I, O]) -> Impact:
        """Which changes replace the resource."""
        raise NotImplementedError

    def update(self, change: Change[I, O]) -> State[O]:
        """Changes the resource in place."""
        raise NotImplementedError

    @abstractmethod
    def delete(self, request: DeleteRequest[I, O]) -> None:
        """Deletes the resource; a missing one is fine."""

    def preview(self, effect: Effect[I, O]) -> Forecast[O]:
        """What an effect would make, which plans show. Inputs may be unknown. It is an export of its own:
        `app.py` says `Lifecycle, Preview = export_with_preview(…)`. Beside a type that has it, one without it
        promises nothing."""
        return Forecast()

    @classmethod
    def previews(cls) -> bool:
        """Whether it foresees its effects."""
        return cls.preview is not ResourceType.preview

    @classmethod
    def implements(cls) -> list[str]:
        """What the host may call, or rely on, by the names of the contract."""
        overridden = [one for one in OPTIONAL if getattr(cls, one) is not getattr(ResourceType, one)]
        promised = ["repeat-create"] if cls.REPEAT_CREATE else []
        return [name.replace("_", "-") for name in overridden] + promised


def described(cls: type) -> tuple[Any, Any]:
    """The inputs and the outputs of a class of `ResourceType`: what it says in brackets."""
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if origin is ResourceType and get_args(base):
            return get_args(base)
        if isinstance(origin, type) and issubclass(origin, ResourceType) and origin is not ResourceType:
            given = dict(zip(getattr(origin, "__parameters__", ()), get_args(base)))
            inputs, outputs = described(origin)
            return given.get(inputs, inputs), given.get(outputs, outputs)
    raise SchemaError(cls.__qualname__, "name its inputs and outputs: `ResourceType[INPUTS, OUTPUTS]`")


class Driver:
    """A driver: what its types have in common."""

    NAME: str
    VERSION: str
    DESCRIPTION: str
    TYPES: "list[ResourceType[Any, Any]]"
    REQUESTED_CAPABILITIES: list[RequestedCapability] = []
    #: Anything else for people, such as `homepage` or `license`.
    NOTES: dict[str, Any] = {}

    def __init_subclass__(cls, **rest: Any):
        super().__init_subclass__(**rest)
        types = vars(cls).get("TYPES")
        if types is not None and not hasattr(types, "__get__"):
            need_types(cls.__qualname__, types)

    def type_of(self, name: str) -> "ResourceType[Any, Any]":
        """The type of a name, else the one for `*`."""
        types = {one.TYPE: one for one in self.TYPES}
        if found := types.get(name) or types.get("*"):
            return found
        raise Failed(f"the driver does not provision `{name}`; its types are {', '.join(types)}")


def need_driver(driver: object, function: str = "export") -> None:
    """Rejects what is no driver, or lacks something, as an argument of a function."""
    if isinstance(driver, type):
        raise SchemaError(function, f"takes an instance: write `{function}({driver.__name__}())`")
    if not isinstance(driver, Driver):
        raise SchemaError(function, "takes an instance of a subclass of `Driver`")
    where = type(driver).__qualname__
    for name in ("NAME", "VERSION", "DESCRIPTION"):
        if not isinstance(getattr(driver, name, None), str):
            raise SchemaError(f"{where}.{name}", f"has to be a string: write `{name} = \"…\"` in the class")
    need_types(where, getattr(driver, "TYPES", None))


def need_types(where: str, types: object) -> None:
    """Rejects types that are not instances, or have no name."""
    place = f"{where}.TYPES"
    if not isinstance(types, (list, tuple)) or not types:
        raise SchemaError(place, "has to be a list of instances, such as `[Bucket()]`")
    for one in types:
        if isinstance(one, type):
            raise SchemaError(place, f"has instances: write `{one.__name__}()`")
        if not isinstance(one, ResourceType):
            raise SchemaError(place, f"has instances of subclasses of `ResourceType`, and not `{one!r}`")
        if not isinstance(getattr(one, "TYPE", None), str):
            what = "has to be a string: write `TYPE = \"…\"` in the class, its type or `*`"
            raise SchemaError(f"{type(one).__qualname__}.TYPE", what)
    names = [one.TYPE for one in types]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SchemaError(place, f"two of them have the `TYPE` `{twice[0]}`")
