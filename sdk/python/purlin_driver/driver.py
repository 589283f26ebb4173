"""What a driver is."""

from dataclasses import dataclass

from .requests import (
    Change, Checked, CheckRequest, CreateRequest, DeleteRequest, Impact, NameRequest, Observed,
    ReadRequest, State
)


@dataclass
class TypeSchema:
    """A type that is provisioned, with JSON Schemas of its inputs and outputs."""

    type_name: str
    inputs: dict
    outputs: dict


@dataclass
class Wish:
    """A capability that the driver asks for; the operator grants."""

    capability: str
    pattern: str
    reason: str


class Driver:
    """The life of a resource. `create` and `delete` every driver has; what it does not override of
    the others, the host does without: wit/lifecycle.wit says what that means."""

    NAME: str
    VERSION: str
    DESCRIPTION: str
    TYPES: list[TypeSchema]
    WISHES: list[Wish] = []
    #: A promise: `create`, called again with the same idempotency key, makes nothing twice.
    REPEAT_CREATE = False

    def check(self, request: CheckRequest) -> Checked:
        """Validates inputs, fills in defaults and normalises. They may hold unknowns."""
        raise NotImplementedError

    def name(self, request: NameRequest) -> str:
        """The friendly name that the real thing gets."""
        raise NotImplementedError

    def create(self, request: CreateRequest) -> State:
        """Makes the resource, or nothing at all."""
        raise NotImplementedError

    def read(self, request: ReadRequest) -> Observed | None:
        """What there is; none only where it is certain that there is nothing."""
        raise NotImplementedError

    def update_impact(self, change: Change) -> Impact:
        """Which changes replace the resource."""
        raise NotImplementedError

    def update(self, change: Change) -> State:
        """Changes the resource in place."""
        raise NotImplementedError

    def delete(self, request: DeleteRequest) -> None:
        """Deletes the resource; what is gone already is fine."""
        raise NotImplementedError

    @classmethod
    def implements(cls, function: str) -> bool:
        """Whether a driver overrides a function."""
        return getattr(cls, function) is not getattr(Driver, function)
