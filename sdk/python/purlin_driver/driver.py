"""The base class of drivers."""

from dataclasses import dataclass

from .requests import (
    Change, Checked, CheckRequest, CreateRequest, DeleteRequest, Impact, NameRequest, Observed,
    ReadRequest, State
)


@dataclass
class TypeSchema:
    """A provisioned type, with JSON Schemas of its inputs and outputs."""

    type_name: str
    inputs: dict
    outputs: dict


@dataclass
class RequestedCapability:
    """A capability that the driver requests; the operator grants."""

    capability: str
    pattern: str
    reason: str


class Driver:
    """The life of a resource. Every driver has `create` and `delete`; the host works without the others
    that it does not override: wit/lifecycle.wit says how."""

    NAME: str
    VERSION: str
    DESCRIPTION: str
    TYPES: list[TypeSchema]
    REQUESTED_CAPABILITIES: list[RequestedCapability] = []
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
    def implements(cls, function: str) -> bool:
        """Whether a driver overrides a function."""
        return getattr(cls, function) is not getattr(Driver, function)
