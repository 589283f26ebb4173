"""A driver whose outputs are its inputs, as it foresees."""

from dataclasses import dataclass
from typing import Annotated, Any

from purlin_driver import (
    Action, Change, CreateRequest, DeleteRequest, Driver, Effect, Forecast, Inputs, Part, ResourceType, Schema,
    State, consent
)


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
    agreed: str | None = None


class Note(ResourceType[NoteInputs, NoteOutputs]):
    """Returns its inputs."""

    TYPE = "kept"
    REPEAT_CREATE = True

    def create(self, request: CreateRequest[NoteInputs]) -> State[NoteOutputs]:
        consent.reached("list", Action.CREATE)
        return state(request.name, request.inputs)

    def update(self, change: Change[NoteInputs, NoteOutputs]) -> State[NoteOutputs]:
        return state(change.state.id, change.after)

    def delete(self, request: DeleteRequest[NoteInputs, NoteOutputs]) -> None:
        pass

    def preview(self, effect: Effect[NoteInputs, NoteOutputs]) -> Forecast[NoteOutputs]:
        match effect:
            case CreateRequest(inputs=given):
                return forecast(Action.CREATE, given)
            case Change(after=given):
                return forecast(Action.UPDATE, given)
            case _:
                return Forecast()


def state(id: str, given: NoteInputs) -> State[NoteOutputs]:
    token = consent.token()
    agreed = None if token is None else token.decode()
    return State(id, NoteOutputs(given.values.all, given.secrets.all, agreed))


def forecast(action: Action, given: NoteInputs) -> Forecast[NoteOutputs]:
    if given.unknown:
        return Forecast(parts=[Part("list", "list", action, after={"size": None}, unknown=["/after/size"])])
    size = len(given.values.all)
    outputs = {"all": given.values.all, "sealed": given.secrets.all}
    parts = [Part("list", "list", action, after={"size": size})]
    return Forecast(outputs, parts=parts, token=f"{action.value} {size}".encode())


class NoteDriver(Driver):
    """The driver."""

    NAME = "shop/memo"
    VERSION = "0.1.0"
    DESCRIPTION = "Returns its inputs."
    TYPES = [Note()]
