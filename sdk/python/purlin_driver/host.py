"""What a driver can say to the host while it works. In a test it is written down instead."""


class Host:
    """`component` puts the real one behind it; until then `said` has what a driver said."""

    def __init__(self):
        self.said: list[tuple] = []
        self.say = lambda *what: self.said.append(what)
        self.asked_to_end = lambda: False

    def log(self, level: str, message: str) -> None:
        """A line for the operator: `trace`, `debug`, `info`, `warn` or `error`."""
        self.say("log", level, message)

    def checkpoint(self, id: str) -> None:
        """Has the id kept before `create` is finished: after a crash it is read by that."""
        self.say("checkpoint", id)

    def progress(self, message: str, percent: int | None = None) -> None:
        """Tells people what is going on."""
        self.say("progress", message, percent)

    def count(self, name: str, by: int = 1) -> None:
        """Adds to a counter."""
        self.say("count", name, by)

    def measure(self, name: str, value: float) -> None:
        """Records a measurement, in the unit that the name ends with."""
        self.say("measure", name, value)

    def cancelled(self) -> bool:
        """Whether the operator wants this call to end; ask it where you wait."""
        return self.asked_to_end()


host = Host()
