"""Why a call failed: one exception for each kind of failure in the contract.

Raise these only if it is certain that nothing was changed, and `Partial` if something was. After any
other exception the host finds out the outcome; `outcome.py` says how.
"""


class Failure(Exception):
    """Any of them."""


class InvalidInputs(Failure):
    """The inputs are wrong. Places are pointers into
    `{"values":…,"secrets":…,"params":…,"connection":…}`."""

    def __init__(self, *faults: tuple[str, str]):
        super().__init__("; ".join(f"{pointer}: {message}" for pointer, message in faults))
        self.faults = faults


class Denied(Failure):
    """A capability is missing; the operator has to grant it."""

    def __init__(self, capability: str, target: str, message: str):
        super().__init__(message)
        self.capability, self.target, self.message = capability, target, message


class NotFound(Failure):
    """The resource, or one that it needs, does not exist."""


class Conflict(Failure):
    """Somebody else's change blocks it."""


class RetryAfter(Failure):
    """Busy, or too many requests; nothing was changed."""

    def __init__(self, after_ms: int, message: str):
        super().__init__(message)
        self.after_ms, self.message = after_ms, message


class Partial(Failure):
    """Something exists now that must not be forgotten: its state."""

    def __init__(self, state, message: str):
        super().__init__(message)
        self.state, self.message = state, message


class Failed(Failure):
    """Anything else; nothing was changed."""


class Undecided(Failure):
    """It is unknown whether anything was changed. Purlin keeps the attempt open and finds out. Only
    `create`, `update` and `delete` may raise it."""


class NeedsDeleteBefore(Failure):
    """The resource that this one replaces must be deleted first; nothing was created. Only a `create` with
    `replaces` may raise it."""


class Faults(list):
    """Collects all faults, so that they are reported at once."""

    def add(self, pointer: str, message: str) -> None:
        self.append((pointer, message))

    def check(self) -> None:
        if self:
            raise InvalidInputs(*self)
