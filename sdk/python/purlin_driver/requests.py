"""Requests to a driver, and its answers. wit/ explains each field."""

from dataclasses import dataclass, field


@dataclass
class Context:
    org: str | None = None
    app: str = "app"
    env: str = "dev"
    env_type: str = "development"
    namespace: str | None = None
    deployment: str = ""
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Subject:
    urn: str
    guresid: str
    type_name: str
    class_: str = "default"
    local_name: str = ""
    context: Context = field(default_factory=Context)


@dataclass
class Call:
    idempotency_key: str = ""
    deadline: int = 0
    hints: dict[str, object] = field(default_factory=dict)


@dataclass
class Inputs:
    values: dict = field(default_factory=dict)
    secrets: dict = field(default_factory=dict)
    params: dict = field(default_factory=dict)
    connection: dict = field(default_factory=dict)
    account: dict = field(default_factory=dict)
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
    #: Pointers into `{"outputs":…,"manifests":{NAME: data}}`.
    sensitive: list[str] = field(default_factory=list)
    version: int = 0
    notes: dict[str, object] = field(default_factory=dict)


@dataclass
class CheckRequest:
    subject: Subject
    inputs: Inputs
    previous: Inputs | None = None
    call: Call = field(default_factory=Call)


@dataclass
class Checked:
    values: dict
    secrets: dict
    warnings: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class NameRequest:
    subject: Subject
    inputs: Inputs
    call: Call = field(default_factory=Call)


@dataclass
class CreateRequest:
    subject: Subject
    inputs: Inputs
    name: str
    replaces: str | None = None
    call: Call = field(default_factory=Call)


@dataclass
class ReadRequest:
    subject: Subject
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
    subject: Subject
    state: State
    before: Inputs
    after: Inputs
    name: str
    call: Call = field(default_factory=Call)


@dataclass
class Impact:
    replaces: list[str] = field(default_factory=list)
    delete_before_replace: bool = False
    #: Pointers into `{"outputs":…,"secrets":…}`.
    stable_outputs: list[str] = field(default_factory=list)


@dataclass
class DeleteRequest:
    subject: Subject
    state: State
    inputs: Inputs
    data_loss_allowed: bool = False
    call: Call = field(default_factory=Call)
