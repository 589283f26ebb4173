"""A driver whose outputs are its inputs."""

from purlin_driver import CreateRequest, DeleteRequest, Driver, State, TypeSchema

INPUTS = {"type": "object", "properties": {"values": {"type": "object"}, "secrets": {"type": "object"}}}


class Note(Driver):
    """Returns its inputs."""

    NAME = "shop/memo"
    VERSION = "0.1.0"
    DESCRIPTION = "Returns its inputs."
    REPEAT_CREATE = True
    TYPE = TypeSchema("kept", INPUTS, {"type": "object", "properties": {"sealed": {"writeOnly": True}}})

    def create(self, request: CreateRequest) -> State:
        given = request.inputs
        return State(request.name, {"all": given.values["all"]}, {"sealed": given.secrets["all"]})

    def delete(self, request: DeleteRequest) -> None:
        pass
