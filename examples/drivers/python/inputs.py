"""The inputs and outputs of the driver. The schemas of both come from these classes: Purlin validates the
inputs before it calls the driver, and says what does not fit."""

import hashlib
import re
from dataclasses import dataclass
from typing import Annotated

from purlin_driver import Inputs, Schema

TITLE = "^[a-z0-9][a-z0-9-]{0,62}$"
SIGNED = re.compile(r"\n-- [0-9a-f]{64}\Z")


@dataclass
class Values:
    text: Annotated[str, Schema("The text of the note.", max_length=64 << 10)]
    title: Annotated[
        str | None,
        Schema("Its name. By default it is derived from the id of the resource.", pattern=TITLE, replaces=True),
    ] = None


@dataclass
class Secrets:
    signature: Annotated[str | None, Schema("Its digest is put below the text.")] = None


@dataclass
class NoteInputs(Inputs):
    values: Values
    secrets: Secrets


@dataclass
class NoteOutputs:
    title: Annotated[str, Schema("The name of the note.")]
    path: Annotated[str, Schema("The path in the driver's folder.")]
    bytes: Annotated[int, Schema("The size of the file.")]
    mark: Annotated[str | None, Schema("Title and signature, if it is signed.", secret=True)] = None


def content(given: NoteInputs) -> bytes:
    """The content of the file. It has a digest of the signature, which is secret."""
    text = given.values.text + "\n"
    if given.secrets.signature is not None:
        text += f"-- {hashlib.sha256(given.secrets.signature.encode()).hexdigest()}\n"
    return text.encode()


def text(content: bytes) -> str:
    """The text of a note, without the signature."""
    return SIGNED.sub("", content.decode(errors="replace").removesuffix("\n"))
