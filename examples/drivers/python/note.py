"""The driver `acme/note`: a note in a folder that the operator granted."""

import inputs
import notes
from inputs import NoteInputs, NoteOutputs, Values
from purlin_driver import (
    Change, Checked, CheckRequest, Conflict, CreateRequest, DeleteRequest, Driver, Impact, NameRequest,
    NeedsDeleteBefore, Observed, ReadRequest, RequestedCapability, ResourceType, State, host
)


class Note(ResourceType[NoteInputs, NoteOutputs]):
    """A note in a folder that the operator granted."""

    TYPE = "note"
    #: A note with the same content is from an earlier attempt.
    REPEAT_CREATE = True

    def check(self, request: CheckRequest[NoteInputs]) -> Checked[NoteInputs]:
        # A note without a title gets a unique one, and keeps it.
        default = request.subject.guresid[:12]
        request.inputs.values.title = request.choose(lambda given: given.values.title, default)
        return Checked(request.inputs)

    def name(self, request: NameRequest[NoteInputs]) -> str:
        return request.inputs.values.title or request.subject.guresid

    def create(self, request: CreateRequest[NoteInputs]) -> State[NoteOutputs]:
        if request.replaces == request.name:
            raise NeedsDeleteBefore(f"both notes are called `{request.name}`")
        content = inputs.content(request.inputs)
        if notes.read(request.name) not in (None, content):
            raise Conflict(f"there is a note `{request.name}` already")
        # From here on, an interrupted call is resolved by this id.
        host.checkpoint(request.name)
        host.progress("writing the note")
        notes.write(request.name, content)
        host.log("info", f"wrote the note `{request.name}`")
        return state(request.name, content, request.inputs)

    def read(self, request: ReadRequest[NoteInputs, NoteOutputs]) -> Observed[NoteOutputs] | None:
        title = request.id or request.name
        # A note that is recorded under this name is being replaced.
        if request.id is None and request.name in request.known:
            return None
        content = notes.read(title)
        if content is None:
            return None
        if request.id is None and content != inputs.content(request.inputs):
            raise Conflict(f"the note `{title}` is not this resource's")
        return Observed(state(title, content, request.inputs), Values(inputs.text(content), title))

    def update_impact(self, change: Change[NoteInputs, NoteOutputs]) -> Impact:
        # Another title is another note, as the schema says.
        if change.changes(lambda given: given.values.title):
            return Impact()
        return Impact(stable_outputs=["/outputs/title", "/outputs/path"])

    def update(self, change: Change[NoteInputs, NoteOutputs]) -> State[NoteOutputs]:
        content = inputs.content(change.after)
        notes.write(change.state.id, content)
        return state(change.state.id, content, change.after)

    def delete(self, request: DeleteRequest[NoteInputs, NoteOutputs]) -> None:
        notes.remove(request.state.id)


class NoteDriver(Driver):
    """The driver, with its only type."""

    NAME = "acme/note"
    VERSION = "0.1.0"
    DESCRIPTION = "A note in a folder that the operator granted."
    TYPES = [Note()]
    REQUESTED_CAPABILITIES = [RequestedCapability("dirs", "the folder of the notes, as /notes with mode `rw`")]


def state(title: str, content: bytes, given: NoteInputs) -> State[NoteOutputs]:
    signature = given.secrets.signature
    mark = None if signature is None else f"{title}:{signature}"
    return State(title, NoteOutputs(title, notes.path(title), len(content), mark))
