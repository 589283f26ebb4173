"""The host's functions for a driver. In a test, the messages are recorded instead."""


class Host:
    """`component` connects the real host; until then `messages` has the driver's messages."""

    def __init__(self):
        self.messages: list[tuple] = []
        self.say = lambda *what: self.messages.append(what)
        self.asked_to_end = lambda: False

    def log(self, level: str, message: str) -> None:
        """A line for the operator: `trace`, `debug`, `info`, `warn` or `error`."""
        self.say("log", level, message)

    def checkpoint(self, id: str) -> None:
        """Stores the id before `create` finishes: after a crash the host reads the resource by it."""
        self.say("checkpoint", id)

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


host = Host()
