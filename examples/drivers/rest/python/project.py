"""The driver `acme/project`: a project in a REST API that speaks JSON."""

from api import Api, Found
from purlin_driver import (
    Change, CreateRequest, DeleteRequest, Driver, NameRequest, Observed, Pending, ReadRequest,
    RequestedCapability, ResourceType, State, host
)
from schema import ProjectInputs, ProjectOutputs, Values


class Project(ResourceType[ProjectInputs, ProjectOutputs]):
    """A project in the API."""

    TYPE = "project"
    #: The API takes idempotency keys: a repeated `create` returns what the first one created, with the
    #: token. Remove this line if your API forgets keys within the time that a deployment may lie still.
    REPEAT_CREATE = True

    def name(self, request: NameRequest[ProjectInputs]) -> str:
        return request.inputs.values.name

    def create(self, request: CreateRequest[ProjectInputs]) -> State[ProjectOutputs]:
        api = Api(request.inputs.connection, request.call)
        created = api.create(request.inputs.values, request.subject.guresid)
        # From here on, an interrupted call is resolved by this id.
        host.checkpoint(created.outputs.id)
        return ready(created)

    def read(self, request: ReadRequest[ProjectInputs, ProjectOutputs]) -> Observed[ProjectOutputs] | None:
        api = Api(request.inputs.connection, request.call)
        if request.id is None:
            found = api.find(request.name, request.subject.guresid, request.known)
        else:
            found = api.get(request.id)
        if found is None:
            return None
        its = found.outputs
        return Observed(ready(found), Values(its.name, its.region, its.size))

    def update(self, change: Change[ProjectInputs, ProjectOutputs]) -> State[ProjectOutputs]:
        api = Api(change.after.connection, change.call)
        return ready(api.update(change.state.id, change.after.values))

    def delete(self, request: DeleteRequest[ProjectInputs, ProjectOutputs]) -> None:
        Api(request.inputs.connection, request.call).delete(request.state.id)


class ProjectDriver(Driver):
    """The driver, with its only type."""

    NAME = "acme/project"
    VERSION = "0.1.0"
    DESCRIPTION = "A project in a REST API."
    TYPES = [Project()]
    REQUESTED_CAPABILITIES = [RequestedCapability("http", "the API that `connection.server` names")]


def ready(found: Found) -> State[ProjectOutputs]:
    """The state of a project that is ready. Otherwise Purlin records the state, and calls `read` later."""
    state = State(found.outputs.id, found.outputs)
    if found.pending_ms is not None:
        raise Pending(found.pending_ms, "the API is still working on the project", state)
    return state
