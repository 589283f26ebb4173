"""Why a call failed: one exception for each kind of failure in the contract.

Raise these only if it is certain that nothing was changed, `Partial` if something was and the rest failed,
and `Pending` if nothing failed but it is not done yet. After any other exception the host finds out the
outcome; `outcome.py` says how.
"""

from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .requests import State


def need(what: str, value: object, kind: type | tuple[type, ...], wanted: str, advice: str = "") -> None:
    """Rejects an argument of another type, at the line of the driver that gives it."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{what} has to be {wanted}, and is {shown(value)}{advice}")


def shown(value: object) -> str:
    """What a value is, for people."""
    if isinstance(value, type):
        return f"the class `{value.__qualname__}`"
    return "`None`" if value is None else f"of type `{type(value).__qualname__}`"


def need_pairs(what: str, values: Iterable[object], advice: str) -> None:
    """Rejects findings that are no pairs of a place and a message."""
    for one in values:
        if not isinstance(one, (tuple, list)) or [type(part) for part in one] != [str, str]:
            raise TypeError(f"{what} has to be a pair, such as `(\"/values/size\", \"is too large\")`{advice}")


def need_texts(what: str, values: object) -> None:
    """Rejects what is no list of strings."""
    need(what, values, (list, tuple), "a list of strings")
    for one in values if isinstance(values, (list, tuple)) else ():
        need(f"{what}: each of them", one, str, "a string")


def need_state(what: str, value: object) -> None:
    from .requests import State

    need(what, value, State, "a `State`")


def need_wait(kind: str, after_ms: object, message: object) -> None:
    advice = f"; write `{kind}(5000, \"…\")`"
    need(f"`{kind}`: `after_ms`", after_ms, (int, float), "a number of milliseconds", advice)
    need(f"`{kind}`: `message`", message, str, "a string", advice)


class Failure(Exception):
    """Any of them."""


class Problem(Failure):
    """Any with a message and details: facts for people, by name, such as `code`, `status`, `request-id` and
    `operation` of the service that answered."""

    def __init__(self, message: str, details: dict[str, str] | None = None):
        kind = type(self).__name__
        need(f"`{kind}`: `message`", message, str, "a string", "; write `str(…)`")
        need(f"`{kind}`: `details`", details, (dict, NoneType), "a dict")
        super().__init__(message)
        self.message, self.details = message, dict(details or {})


class InvalidInputs(Failure):
    """The inputs are wrong: `InvalidInputs(("/values/size", "is too large"), …)`. Places are pointers into
    `{"values":…,"secrets":…,"params":…,"connection":…,"account":…}`."""

    def __init__(self, *faults: tuple[str, str]):
        need_pairs("`InvalidInputs`: each argument", faults, "; write `*` before a list of them")
        super().__init__("; ".join(f"{pointer}: {message}" for pointer, message in faults))
        self.faults = faults


class Denied(Failure):
    """A capability is missing; the operator has to grant it."""

    def __init__(self, capability: str, target: str, message: str):
        for name, value in {"capability": capability, "target": target, "message": message}.items():
            need(f"`Denied`: `{name}`", value, str, "a string")
        super().__init__(message)
        self.capability, self.target, self.message = capability, target, message


class NotFound(Problem):
    """Something that the resource needs does not exist; nothing was changed. That the resource itself is
    missing is `None` from `read`, and a success of `delete`."""


class Conflict(Problem):
    """An object that is not this resource's, or its contents, stands in the way; nothing was changed."""


class RetryAfter(Failure):
    """Busy, or too many requests; nothing was changed."""

    def __init__(self, after_ms: int, message: str):
        need_wait("RetryAfter", after_ms, message)
        super().__init__(message)
        self.after_ms, self.message = after_ms, message


class Pending(Failure):
    """It exists, or is going away, and is not done yet. Purlin records it and looks again later: by `read`
    after `create`, `update` and `read`, by `delete` after `delete`. From `create` and `update` with the
    state, from `read` with or without it, from `delete` without it; from no other function."""

    def __init__(self, after_ms: int, message: str, state: "State[Any] | None" = None):
        need_wait("Pending", after_ms, message)
        if state is not None:
            need_state("`Pending`: `state`", state)
        super().__init__(message)
        self.after_ms, self.message, self.state = after_ms, message, state


class Partial(Problem):
    """Something exists now that must not be forgotten, its state; the rest failed."""

    def __init__(self, state: "State[Any]", message: str, details: dict[str, str] | None = None):
        need_state("`Partial`: `state`", state)
        super().__init__(message, details)
        self.state = state


class Failed(Problem):
    """Anything else; nothing was changed."""


class Undecided(Problem):
    """It is unknown whether anything was changed. Purlin keeps the attempt open and finds out. Only
    `create`, `update` and `delete` may raise it."""


class NeedsDeleteBefore(Problem):
    """The resource that this one replaces must be deleted first; nothing was created. Only a `create` with
    `replaces` may raise it."""


class Faults(list[tuple[str, str]]):
    """Collects all faults, so that they are reported at once."""

    def add(self, pointer: str, message: str) -> None:
        self.append((pointer, message))

    def failure(self, pointer: str, message: str) -> Failure:
        """The failure of a single one."""
        return InvalidInputs((pointer, message))

    def check(self) -> None:
        if self:
            raise InvalidInputs(*self)
