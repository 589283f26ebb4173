"""What a declaration says of a value besides its type, as `Annotated[TYPE, Schema(…)]`."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

NUMBERS = ("integer", "number")


class SchemaError(TypeError):
    """A declaration that cannot be a schema. It names the class and the field."""

    def __init__(self, where: str, message: str):
        super().__init__(f"`{where}`: {message}")


def keyword(name: str, *types: str, of: str | None = None) -> Any:
    """A keyword of the schema: for values of these types of JSON, of inputs or outputs, or for all."""
    return field(default=None, metadata={"keyword": name, "types": types, "of": of})


@dataclass(frozen=True, eq=False)
class Schema:
    """The description of a value, and the keywords of its schema. Of several in one `Annotated`, the last
    one wins. `docs/src/reference/contract.md` explains the keywords `x-purlin-…`."""

    description: str | None = keyword("description")
    _: KW_ONLY
    #: The name in JSON, if it differs from that in Python. Only a field has one.
    name: str | None = None
    #: The default of the field stays out of the schema, and of plans and records: the description tells it.
    assumed: bool = False
    #: Any other keywords.
    more: Mapping[str, Any] | None = None

    examples: Sequence[Any] | None = keyword("examples")
    deprecated: bool | None = keyword("deprecated")
    minimum: float | None = keyword("minimum", *NUMBERS)
    maximum: float | None = keyword("maximum", *NUMBERS)
    exclusive_minimum: float | None = keyword("exclusiveMinimum", *NUMBERS)
    exclusive_maximum: float | None = keyword("exclusiveMaximum", *NUMBERS)
    multiple_of: float | None = keyword("multipleOf", *NUMBERS)
    #: Characters, not bytes.
    min_length: int | None = keyword("minLength", "string")
    max_length: int | None = keyword("maxLength", "string")
    #: It may match a part: begin with `^` and end with `$`. The host has neither look-around nor back
    #: references.
    pattern: str | None = keyword("pattern", "string")
    format: str | None = keyword("format", "string")
    min_items: int | None = keyword("minItems", "array")
    max_items: int | None = keyword("maxItems", "array")
    unique_items: bool | None = keyword("uniqueItems", "array")
    min_properties: int | None = keyword("minProperties", "object")
    max_properties: int | None = keyword("maxProperties", "object")

    #: A secret, although it is not in `secrets`.
    secret: bool | None = keyword("writeOnly")
    #: A change replaces the resource. In `connection`, it marks the inputs that identify the system.
    replaces: bool | None = keyword("x-purlin-replaces", of="inputs")
    #: A change is rejected in the plan.
    immutable: bool | None = keyword("x-purlin-immutable", of="inputs")
    #: Deleting the resource loses data: `True`, or a text that names the data.
    holds_data: bool | str | None = keyword("x-purlin-holds-data", of="inputs")
    #: What the driver reaches at the value: a URL, a server, or a path.
    reaches: Literal["http", "tcp", "dir"] | None = keyword("x-purlin-reaches", of="inputs")
    port: int | None = keyword("x-purlin-port", of="inputs")
    methods: Sequence[str | Mapping[str, Any]] | None = keyword("x-purlin-methods", of="inputs")
    #: Only `create` returns the output; the host keeps it.
    write_once: bool | None = keyword("x-purlin-write-once", of="outputs")
    #: Of all outputs: they are the inputs, or follow from them.
    outputs: Literal["inputs", "computed"] | None = keyword("x-purlin-outputs", of="outputs")
