"""The driver `acme/note`: a note in a folder that the operator granted."""

import inputs
import notes
from purlin_driver import (
    Change, Checked, CheckRequest, Conflict, CreateRequest, DeleteRequest, Driver, Impact, Inputs,
    InvalidInputs, NameRequest, NeedsDeleteBefore, Observed, ReadRequest, RequestedCapability, State,
    TypeSchema, host
)


class Note(Driver):
    """A note in a folder that the operator granted."""

    NAME = "acme/note"
    VERSION = "0.1.0"
    DESCRIPTION = "A note in a folder that the operator granted."
    #: A note with the same content is from an earlier attempt.
    REPEAT_CREATE = True
    TYPE = TypeSchema("note", inputs.INPUTS, inputs.OUTPUTS)
    REQUESTED_CAPABILITIES = [RequestedCapability("dirs", "the folder of the notes, as /notes with mode `rw`")]

    def check(self, request: CheckRequest) -> Checked:
        inputs.faults(request.inputs).check()
        return Checked(inputs.with_defaults(request), request.inputs.secrets)

    def name(self, request: NameRequest) -> str:
        return request.inputs.values["title"]

    def create(self, request: CreateRequest) -> State:
        inputs.faults(request.inputs).check()
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

    def read(self, request: ReadRequest) -> Observed | None:
        title = request.id or request.name
        # A note that is recorded under this name is being replaced.
        if request.id is None and request.name in request.known:
            return None
        content = notes.read(title)
        if content is None:
            return None
        if request.id is None and content != inputs.content(request.inputs):
            raise Conflict(f"the note `{title}` is not this resource's")
        return Observed(state(title, content, request.inputs), {"title": title, "text": inputs.text(content)})

    def update_impact(self, change: Change) -> Impact:
        if change.after.values.get("title") != change.state.id:
            return Impact(replaces=["/values/title"])
        return Impact(stable_outputs=["/outputs/title", "/outputs/path"])

    def update(self, change: Change) -> State:
        inputs.faults(change.after).check()
        title = change.state.id
        if change.after.values["title"] != title:
            raise InvalidInputs(("/values/title", "a note keeps its title; another is another note"))
        content = inputs.content(change.after)
        notes.write(title, content)
        return state(title, content, change.after)

    def delete(self, request: DeleteRequest) -> None:
        notes.remove(request.state.id)


def state(title: str, content: bytes, given: Inputs) -> State:
    outputs = {"title": title, "path": notes.path(title), "bytes": len(content)}
    signature = given.secrets.get("signature")
    return State(title, outputs, {"mark": f"{title}:{signature}"} if signature is not None else {})
