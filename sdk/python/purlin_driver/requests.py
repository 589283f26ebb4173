"""Requests to a driver, and its answers. wit/ explains each field."""

from dataclasses import dataclass, field


@dataclass
class Context:
    org: str = ""
    app: str = "app"
    env: str = "dev"
    env_type: str = "development"
    namespace: str = "dev"
    deployment: str = ""


@dataclass
class Resource:
    urn: str
    guresid: str
    type_name: str
    class_: str = "default"
    id: str = ""
    context: Context = field(default_factory=Context)


@dataclass
class Call:
    idempotency_key: str = ""
    deadline: int = 0


@dataclass
class Inputs:
    values: dict = field(default_factory=dict)
    secrets: dict = field(default_factory=dict)
    params: dict = field(default_factory=dict)
    connection: dict = field(default_factory=dict)
    account: str | None = None
    unknown: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)

    def is_unknown(self, pointer: str) -> bool:
        """Whether a place, or one around it, is unknown."""
        return any(pointer == place or pointer.startswith(place + "/") for place in self.unknown)


@dataclass
class ManifestFile:
    name: str
    location: str
    data: object


@dataclass
class State:
    id: str
    outputs: dict = field(default_factory=dict)
    secrets: dict = field(default_factory=dict)
    cookie: bytes = b""
    manifests: list[ManifestFile] = field(default_factory=list)


@dataclass
class CheckRequest:
    resource: Resource
    inputs: Inputs
    previous: dict | None = None


@dataclass
class Checked:
    values: dict
    secrets: dict
    warnings: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class NameRequest:
    resource: Resource
    inputs: Inputs


@dataclass
class CreateRequest:
    resource: Resource
    inputs: Inputs
    name: str
    replaces: str | None = None
    call: Call = field(default_factory=Call)


@dataclass
class ReadRequest:
    resource: Resource
    id: str | None
    name: str
    inputs: Inputs
    state: State | None = None
    known: list[str] = field(default_factory=list)
    call: Call = field(default_factory=Call)


@dataclass
class Observed:
    state: State
    values: dict | None = None


@dataclass
class Change:
    resource: Resource
    state: State
    before: Inputs
    after: Inputs
    name: str
    call: Call = field(default_factory=Call)


@dataclass
class Impact:
    replaces: list[str] = field(default_factory=list)
    delete_before_replace: bool = False
    stable_outputs: list[str] = field(default_factory=list)


@dataclass
class DeleteRequest:
    resource: Resource
    state: State
    inputs: Inputs
    call: Call = field(default_factory=Call)
