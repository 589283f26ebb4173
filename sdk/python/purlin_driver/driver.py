"""The base classes of drivers, and of the types of a driver that has several."""

from dataclasses import dataclass

from .failures import Failed
from .requests import (
    Change, Checked, CheckRequest, CreateRequest, DeleteRequest, Impact, NameRequest, Observed,
    ReadRequest, State
)

#: The functions that a type need not have.
OPTIONAL = ("check", "name", "read", "update_impact", "update")


@dataclass
class TypeSchema:
    """A provisioned type, or `*` for every other one, with JSON Schemas of its inputs and outputs."""

    type_name: str
    inputs: dict
    outputs: dict


@dataclass
class RequestedCapability:
    """A capability that the driver requests; the operator grants. Without a pattern, the inputs decide."""

    capability: str
    reason: str
    pattern: str | None = None


class ResourceType:
    """The life of the resources of one type. Every type has `create` and `delete`; the host works without
    the others that it does not override: wit/types.wit says how."""

    TYPE: TypeSchema
    #: A promise: `create`, called again with the same idempotency key, creates nothing twice.
    REPEAT_CREATE = False

    def check(self, request: CheckRequest) -> Checked:
        """Validates inputs, fills in defaults and normalises. They may hold unknowns."""
        raise NotImplementedError

    def name(self, request: NameRequest) -> str:
        """The friendly name of the real object."""
        raise NotImplementedError

    def create(self, request: CreateRequest) -> State:
        """Creates the resource, or nothing at all."""
        raise NotImplementedError

    def read(self, request: ReadRequest) -> Observed | None:
        """The existing resource; none only if there is certainly nothing."""
        raise NotImplementedError

    def update_impact(self, change: Change) -> Impact:
        """Which changes replace the resource."""
        raise NotImplementedError

    def update(self, change: Change) -> State:
        """Changes the resource in place."""
        raise NotImplementedError

    def delete(self, request: DeleteRequest) -> None:
        """Deletes the resource; a missing one is fine."""
        raise NotImplementedError

    @classmethod
    def implements(cls) -> list[str]:
        """What the host may call, or rely on, by the names of the contract."""
        overridden = [one for one in OPTIONAL if getattr(cls, one) is not getattr(ResourceType, one)]
        promised = ["repeat-create"] if cls.REPEAT_CREATE else []
        return [name.replace("_", "-") for name in overridden] + promised


class Driver(ResourceType):
    """A driver. One of a single type has `TYPE` and the functions itself; one of several has a
    `ResourceType` for each in `TYPES`."""

    NAME: str
    VERSION: str
    DESCRIPTION: str
    TYPES: list[ResourceType] = []
    REQUESTED_CAPABILITIES: list[RequestedCapability] = []
    #: Anything else for people, such as `homepage` or `license`.
    NOTES: dict[str, object] = {}

    def types(self) -> list[ResourceType]:
        """Its types."""
        return self.TYPES or [self]

    def type_of(self, name: str) -> ResourceType:
        """The type of a name, else the one for `*`."""
        types = {one.TYPE.type_name: one for one in self.types()}
        if found := types.get(name) or types.get("*"):
            return found
        raise Failed(f"the driver does not provision `{name}`; its types are {', '.join(types)}")
