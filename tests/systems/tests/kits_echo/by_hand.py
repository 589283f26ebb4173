"""A driver without an SDK: from the contract as WIT alone. It keeps each note in a file of a granted folder."""

import json
import os

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import operation
from wit_world.imports import purlin_driver_types as t

FOLDER = "/notes"
INPUTS = {
    "type": "object",
    "properties": {
        "values": {
            "type": "object",
            "required": ["text"],
            "additionalProperties": False,
            "properties": {"text": {"type": "string", "maxLength": 4096}},
        }
    },
}
OUTPUTS = {"type": "object", "required": ["bytes"], "properties": {"bytes": {"type": "integer"}}}


def path(note):
    return os.path.join(FOLDER, note)


def denied():
    return Err(t.Failure_Denied(t.Denial("dirs", FOLDER, "the notes are kept there")))


def write(note, inputs):
    text = json.loads(inputs.values)["text"]
    if not os.path.isdir(FOLDER):
        raise denied()
    beside = path("." + note)
    with open(beside, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    os.replace(beside, path(note))
    return state(note, text)


def state(note, text):
    outputs = json.dumps({"bytes": len(text.encode())})
    return t.State(note, outputs, "{}", b"", [], [], 0, [])


class Lifecycle(exports.Lifecycle):
    def describe(self):
        implements = ["read", "update", "repeat-create"]
        note = t.TypeSchema("note", implements, json.dumps(INPUTS), json.dumps(OUTPUTS))
        folder = t.RequestedCapability("dirs", FOLDER, "to keep the notes")
        return t.DriverInfo("acme/by-hand", "1.0.0", "Keeps notes.", [note], [folder], [])

    def check(self, request):
        return t.Checked(request.inputs.values, request.inputs.secrets, [])

    def name(self, request):
        return request.subject.guresid

    def create(self, request):
        operation.checkpoint(request.name, None)
        return write(request.name, request.inputs)

    def read(self, request):
        note = request.id or request.name
        if not os.path.isdir(FOLDER):
            raise denied()
        try:
            with open(path(note), encoding="utf-8", newline="") as file:
                text = file.read()
        except FileNotFoundError:
            return None
        return t.Observed(state(note, text), json.dumps({"text": text}))

    def update_impact(self, request):
        return t.Impact([], False, [])

    def update(self, request):
        return write(request.state.id, request.after)

    def delete(self, request):
        if not os.path.isdir(FOLDER):
            raise denied()
        try:
            os.remove(path(request.state.id))
        except FileNotFoundError:
            pass
