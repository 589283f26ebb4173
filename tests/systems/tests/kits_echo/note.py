"""A driver whose outputs are its inputs."""

from dataclasses import dataclass
from typing import Annotated, Any

from purlin_driver import CreateRequest, DeleteRequest, Driver, Inputs, ResourceType, Schema, State


@dataclass
class All:
    all: Any


@dataclass
class NoteInputs(Inputs):
    values: All
    secrets: All


@dataclass
class NoteOutputs:
    all: Any
    sealed: Annotated[Any, Schema(secret=True)]


class Note(ResourceType[NoteInputs, NoteOutputs]):
    """Returns its inputs."""

    TYPE = "kept"
    REPEAT_CREATE = True

    def create(self, request: CreateRequest[NoteInputs]) -> State[NoteOutputs]:
        given = request.inputs
        return State(request.name, NoteOutputs(given.values.all, given.secrets.all))

    def delete(self, request: DeleteRequest[NoteInputs, NoteOutputs]) -> None:
        pass


class NoteDriver(Driver):
    """The driver."""

    NAME = "shop/memo"
    VERSION = "0.1.0"
    DESCRIPTION = "Returns its inputs."
    TYPES = [Note()]
