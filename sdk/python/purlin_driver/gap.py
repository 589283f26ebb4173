"""The place of a value that is not there, so that nobody takes anything else for the value."""

from typing import Any, NoReturn


class UnknownValue(Exception):
    """A driver used a value that only exists once another resource is provisioned."""

    def __init__(self, pointer: str):
        super().__init__(f"`{pointer}` is not known yet; ask `is_unknown` before you use it")


class Gap:
    """In the place of a value that is not known yet, or that a record has in another form. It is not `None`,
    and whatever else is done with it raises an exception that names the place."""

    __slots__ = ("_pointer", "_fault")
    _pointer: str
    _fault: Exception

    def __init__(self, pointer: str, fault: Exception):
        object.__setattr__(self, "_pointer", pointer)
        object.__setattr__(self, "_fault", fault)

    def __repr__(self) -> str:
        return f"<{'unknown' if is_unknown(self) else 'no'} {self._pointer}>"

    def __getattr__(self, name: str) -> "Gap":
        """The fields of a value that is not there are not there."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if value is not self:
            raise self._fault

    def __copy__(self) -> "Gap":
        return self

    def __deepcopy__(self, _: Any) -> "Gap":
        return self


def use(self: Gap, *_: Any) -> NoReturn:
    raise self._fault


# Python looks these up in the class. Without any other, such as `__sub__`, it raises `TypeError`.
for name in (
    "bool bytes call contains delitem eq float format fspath ge getitem gt hash index int iter le len lt "
    "add radd mul mod rmod setitem str"
).split():
    setattr(Gap, f"__{name}__", use)


def is_unknown(value: object) -> bool:
    """Whether a value of the inputs only exists once another resource is provisioned. That happens in
    `check`, `update_impact` and `preview` only. If a map or a list is known, single values in it may be unknown."""
    return isinstance(value, Gap) and isinstance(value._fault, UnknownValue)
