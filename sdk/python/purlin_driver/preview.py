"""What an effect would make, before it happens. `wit/deps/preview.wit` explains each field."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from types import NoneType
from typing import Any, Generic, Union

from .failures import need, need_texts
from .host import host
from .requests import Change, CreateRequest, DeleteRequest, I, O

#: An effect that may follow: the request that its method would get. It differs from that in four ways: inputs
#: may be unknown, the idempotency key is empty, a new resource whose inputs are unknown has no name yet (an
#: empty one), and nobody has agreed yet that the data of parts is lost.
Effect = Union[CreateRequest[I], Change[I, O], DeleteRequest[I, O]]


class Action(Enum):
    """What happens to a part."""

    #: Nothing but another address.
    NONE = "none"
    CREATE = "create"
    #: It is only read.
    READ = "read"
    #: It changes in place.
    UPDATE = "update"
    #: It is replaced, in this order or the other.
    CREATE_THEN_DELETE = "create-then-delete"
    DELETE_THEN_CREATE = "delete-then-create"
    DELETE = "delete"
    #: An existing object becomes this part.
    ADOPT = "adopt"
    #: It stays, and the resource no longer has it.
    FORGET = "forget"


@dataclass
class Part:
    """One of the objects that a resource consists of, and what happens to it."""

    #: Within the resource: 1 to 4096 bytes, the same in every forecast, and of no other part.
    address: str
    #: In the driver's words, such as `aws_subnet`.
    type_name: str
    action: Action
    #: Its attributes so far, and afterwards, with `None` in unknown places; `None` if there are none to show.
    before: Any = None
    after: Any = None
    #: Its address so far, if the effect changes that.
    moved_from: str | None = None
    #: Places that are unknown, that hold secrets, and that make a replacement necessary, as pointers into
    #: `{"before":…,"after":…}`.
    unknown: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    replaces: list[str] = field(default_factory=list)
    #: The data that is lost if the part is deleted or replaced; `None` if it holds no data.
    holds_data: str | None = None
    #: Anything else for people, such as `reason`.
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """As that of `State`."""
        need("`Part`: `address`", self.address, str, "a string")
        need("`Part`: `type_name`", self.type_name, str, "a string")
        need("`Part`: `action`", self.action, Action, "an `Action`, such as `Action.CREATE`")
        need("`Part`: `moved_from`", self.moved_from, (str, NoneType), "a string or `None`")
        for name in ("unknown", "sensitive", "replaces"):
            need_texts(f"`Part`: `{name}`", getattr(self, name))
        need("`Part`: `holds_data`", self.holds_data, (str, NoneType), "a string or `None`")
        need("`Part`: `notes`", self.notes, dict, "a dict")


@dataclass
class Forecast(Generic[O]):
    """What an effect would make. Without fields, it promises nothing."""

    #: Outputs that are certain, with those that are secret: an instance of their class, or a dict of those that
    #: are known, by their names in JSON. Each is a promise that the host checks after the effect.
    outputs: O | dict[str, Any] | None = None
    #: Places within these outputs that are not certain, and are `None` there, such as `/outputs/urls/0`.
    unknown: list[str] = field(default_factory=list)
    #: Places within them that are secret besides, as that of `State`.
    sensitive: list[str] = field(default_factory=list)
    #: The parts to which something happens, at most 10,000.
    parts: list[Part] = field(default_factory=list)
    #: What ties the effect to this forecast, if all inputs are known: `consent.token()` returns it.
    token: bytes | None = None
    #: Anything else for people.
    notes: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.need()

    def need(self) -> None:
        """As that of `State`."""
        need_texts("`Forecast`: `unknown`", self.unknown)
        need_texts("`Forecast`: `sensitive`", self.sensitive)
        need("`Forecast`: `parts`", self.parts, (list, tuple), "a list of `Part`")
        for one in self.parts:
            need("`Forecast`: each of `parts`", one, Part, "a `Part`")
            one.need()
        need("`Forecast`: `token`", self.token, (bytes, NoneType), "bytes or `None`")
        need("`Forecast`: `notes`", self.notes, dict, "a dict")


class Consent:
    """What people agreed to, for `create`, `update` and `delete` of a type with a `preview`. In a test,
    `agreed` is the token, and `host.messages` has what is reached."""

    def __init__(self) -> None:
        self.agreed: bytes | None = None
        self.find: Callable[[], bytes | None] = lambda: self.agreed
        self.say: Callable[[str, Action], None] = lambda *what: host.say("reached", *what)

    def token(self) -> bytes | None:
        """The token of the forecast that people agreed to; `None` if there is none, and in a function without
        effects. If the system has changed since, raise `Conflict`."""
        return self.find()

    def reached(self, address: str, action: Action) -> None:
        """Shows people that a part is done."""
        self.say(address, action)


consent = Consent()
