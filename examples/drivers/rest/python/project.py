"""The driver `acme/project`: a project in a REST API that speaks JSON."""

import schema
from api import Api
from purlin_driver import (
    Change, CreateRequest, DeleteRequest, Driver, NameRequest, Observed, Pending, ReadRequest,
    RequestedCapability, State, TypeSchema, host
)


class Project(Driver):
    """A project in the API."""

    NAME = "acme/project"
    VERSION = "0.1.0"
    DESCRIPTION = "A project in a REST API."
    #: The API takes idempotency keys: a repeated `create` returns what the first one created, with the
    #: token. Remove this line if your API forgets keys within the time that a deployment may lie still.
    REPEAT_CREATE = True
    TYPE = TypeSchema("project", schema.INPUTS, schema.OUTPUTS)
    REQUESTED_CAPABILITIES = [RequestedCapability("http", "the API that `connection.server` names")]

    def name(self, request: NameRequest) -> str:
        return request.inputs.values["name"]

    def create(self, request: CreateRequest) -> State:
        api = Api(request.inputs.connection, request.call)
        created = api.create(request.inputs.values, request.subject.guresid)
        # From here on, an interrupted call is resolved by this id.
        host.checkpoint(created["id"])
        secrets = {"token": created["token"]} if "token" in created else {}
        return ready(created, State(created["id"], outputs(created), secrets))

    def read(self, request: ReadRequest) -> Observed | None:
        api = Api(request.inputs.connection, request.call)
        if request.id is None:
            found = api.find(request.name, request.subject.guresid, request.known)
        else:
            found = api.get(request.id)
        if found is None:
            return None
        values = {name: found[name] for name in ("name", "region", "size")}
        return Observed(ready(found, State(found["id"], outputs(found))), values)

    def update(self, change: Change) -> State:
        api = Api(change.after.connection, change.call)
        updated = api.update(change.state.id, change.after.values)
        return ready(updated, State(change.state.id, outputs(updated)))

    def delete(self, request: DeleteRequest) -> None:
        Api(request.inputs.connection, request.call).delete(request.state.id)


def ready(found: dict, state: State) -> State:
    """The state of a project that is ready. Otherwise Purlin records the state, and calls `read` later."""
    if found["pending_ms"] is not None:
        raise Pending(found["pending_ms"], "the API is still working on the project", state)
    return state


def outputs(found: dict) -> dict:
    """The outputs of a project, without the token: only `create` gets it, and Purlin keeps it, as the
    schema says."""
    return {name: found[name] for name in ("id", "name", "region", "size")}
