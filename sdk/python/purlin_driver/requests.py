"""Requests to a driver, and its answers. wit/ explains each field. `I` are the driver's inputs, `O` its
outputs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .failures import Failure, need, need_pairs, need_state, need_texts
from .gap import Gap, UnknownValue
from .inputs import Inputs
from .records import written

I = TypeVar("I", bound=Inputs)
O = TypeVar("O")
T = TypeVar("T")


@dataclass
class Context:
    org: str | None = None
    app: str = "app"
    env: str = "dev"
    env_type: str = "development"
    namespace: str | None = None
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
    hints: dict[str, Any] = field(default_factory=dict)


@dataclass
class ManifestFile:
    name: str
    location: str
    data: Any


@dataclass
class State(Generic[O]):
    id: str
    #: With those that are secret.
    outputs: O
    cookie: bytes = b""
    manifests: list[ManifestFile] = field(default_factory=list)
    #: Places that are secret besides, as pointers into `{"outputs":…,"manifests":{NAME: data}}`.
    sensitive: list[str] = field(default_factory=list)
    version: int = 0
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """Rejects fields of another type: when it is made, and, since they can be changed, when it is sent."""
        need("`State`: `id`", self.id, str, "a string", "; write `str(…)`")
        need("`State`: `cookie`", self.cookie, bytes, "bytes")
        need("`State`: `manifests`", self.manifests, (list, tuple), "a list of `ManifestFile`")
        for one in self.manifests:
            need("`State`: each of `manifests`", one, ManifestFile, "a `ManifestFile`")
        need_texts("`State`: `sensitive`", self.sensitive)
        need("`State`: `version`", self.version, int, "an integer")
        need("`State`: `notes`", self.notes, dict, "a dict")


@dataclass
class CheckRequest(Generic[I]):
    subject: Subject
    inputs: I
    previous: I | None = None
    call: Call = field(default_factory=Call)

    def choose(self, of: Callable[[I], T | None], default: T) -> T:
        """An input that the driver chooses if the documents omit it: an existing resource keeps its own,
        whatever the default is by now. `of` gets the input, such as `lambda inputs: inputs.values.title`."""
        given = of(self.inputs)
        if given is not None:
            return given
        try:
            before = None if self.previous is None else of(self.previous)
        except (AttributeError, LookupError, TypeError):
            # A map around it was omitted.
            before = None
        return default if before is None or isinstance(before, Gap) else before


@dataclass
class Checked(Generic[I]):
    """Inputs as they will be used: those of the request, perhaps with other values and secrets."""

    inputs: I
    #: Places and messages.
    warnings: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """As that of `State`."""
        need("`Checked`: `inputs`", self.inputs, Inputs, "the inputs, such as `request.inputs`")
        need("`Checked`: `warnings`", self.warnings, (list, tuple), "a list")
        need_pairs("`Checked`: each of `warnings`", self.warnings, "")


@dataclass
class NameRequest(Generic[I]):
    subject: Subject
    inputs: I
    call: Call = field(default_factory=Call)


@dataclass
class CreateRequest(Generic[I]):
    subject: Subject
    inputs: I
    name: str
    replaces: str | None = None
    call: Call = field(default_factory=Call)


@dataclass
class ReadRequest(Generic[I, O]):
    subject: Subject
    id: str | None
    name: str
    inputs: I
    state: State[O] | None = None
    known: list[str] = field(default_factory=list)
    call: Call = field(default_factory=Call)


@dataclass
class Observed(Generic[O]):
    state: State[O]
    #: The values as reality has them: an instance of their class, or a dict of those that are known, by
    #: their names in JSON.
    values: Any = None

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """As that of `State`."""
        need_state("`Observed`: `state`", self.state)


@dataclass
class Change(Generic[I, O]):
    subject: Subject
    state: State[O]
    before: I
    after: I
    name: str
    call: Call = field(default_factory=Call)

    def changes(self, of: Callable[[I], Any]) -> bool:
        """Whether an input changes; an unknown one does. `of` gets it, such as
        `lambda inputs: inputs.values.title`."""
        try:
            return bool(written(of(self.before)) != written(of(self.after)))
        except (UnknownValue, Failure):
            return True


@dataclass
class Impact:
    #: Pointers such as `/values/name`.
    replaces: list[str] = field(default_factory=list)
    delete_before_replace: bool = False
    #: Pointers such as `/outputs/host`, also of a secret one, or `/outputs` for all.
    stable_outputs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """As that of `State`."""
        need_texts("`Impact`: `replaces`", self.replaces)
        need("`Impact`: `delete_before_replace`", self.delete_before_replace, bool, "`True` or `False`")
        need_texts("`Impact`: `stable_outputs`", self.stable_outputs)


@dataclass
class DeleteRequest(Generic[I, O]):
    subject: Subject
    state: State[O]
    inputs: I
    data_loss_allowed: bool = False
    call: Call = field(default_factory=Call)
