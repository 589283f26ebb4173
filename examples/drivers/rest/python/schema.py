"""The inputs and outputs of the driver. The schemas of both come from these classes. Purlin validates inputs,
fills in defaults, keeps secrets, and decides which changes replace: so there is no `check`, and no
`update_impact`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from purlin_driver import Inputs, Schema

NAME = "^[a-z0-9][a-z0-9-]{0,62}$"
URL = "^https?://[^/?#]+(/[^?#]*)?$"
#: Methods that are sent only to a project that exists.
LATER = [{"method": method, "later": True} for method in ("GET", "PATCH", "DELETE")]

Region = Literal["eu", "us"]


@dataclass
class Values:
    name: Annotated[str, Schema("The name. Another one is another project.", pattern=NAME, replaces=True)]
    region: Annotated[Region, Schema("The region. It cannot be changed.", immutable=True)] = "eu"
    size: Annotated[int, Schema("The number of seats.", minimum=1, maximum=1000)] = 1


@dataclass
class Connection:
    """The current connection to the API, also in `read` and `delete`."""

    server: Annotated[
        str,
        Schema("The URL of the API, such as `https://api.example/v1`.", pattern=URL, replaces=True),
        # So a plan names all grants that are missing.
        Schema(reaches="http", methods=["POST", *LATER]),
    ]
    token: Annotated[str, Schema("The token of the API.", secret=True, min_length=1)]


@dataclass
class ProjectInputs(Inputs):
    values: Values
    connection: Connection


@dataclass
class ProjectOutputs:
    id: Annotated[str, Schema("The project's id in the API.")]
    name: Annotated[str, Schema("The project's name.")]
    region: Annotated[Region, Schema("The region of the project.")]
    size: Annotated[int, Schema("The number of seats.")]
    token: Annotated[str | None, Schema("The project's own token.", secret=True, write_once=True)] = None
