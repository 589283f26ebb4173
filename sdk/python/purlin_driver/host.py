"""The host's functions for a driver. In a test, the messages are recorded instead."""


from collections.abc import Callable
from typing import Any


class Host:
    """`component` connects the real host; until then `messages` has the driver's messages, and a call has
    a minute."""

    def __init__(self) -> None:
        self.messages: list[tuple[Any, ...]] = []
        self.say: Callable[..., None] = lambda *what: self.messages.append(what)
        self.asked_to_end: Callable[[], bool] = lambda: False
        self.left: Callable[[], int] = lambda: 60_000

    def log(self, level: str, message: str) -> None:
        """A line for the operator: `trace`, `debug`, `info`, `warn` or `error`."""
        self.say("log", level, message)

    def checkpoint(self, id: str, cookie: bytes | None = None) -> None:
        """Stores what exists before `create` or `update` finishes: after a crash the host reads the resource
        by this id, and the next request has the cookie in its state, if one was given."""
        self.say("checkpoint", id, cookie)

    def progress(self, message: str, percent: int | None = None) -> None:
        """Shows people the progress."""
        self.say("progress", message, percent)

    def count(self, name: str, by: int = 1) -> None:
        """Adds to a counter."""
        self.say("count", name, by)

    def measure(self, name: str, value: float) -> None:
        """Records a measurement, in the unit that the name ends with."""
        self.say("measure", name, value)

    def cancelled(self) -> bool:
        """Whether the operator cancelled this call; check it while you wait."""
        return self.asked_to_end()

    def time_left(self) -> int:
        """Milliseconds until the host ends the call."""
        return self.left()


host = Host()
