"""The inputs of the driver."""

import hashlib
import re

from purlin_driver import CheckRequest, Faults, Inputs

#: Bytes of the longest text.
LONGEST = 64 << 10

TITLE = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
SIGNED = re.compile(r"\n-- [0-9a-f]{64}\Z")

KNOWN = {"values": ["title", "text"], "secrets": ["signature"]}

INPUTS = {
    "type": "object",
    "required": ["values"],
    "properties": {
        "values": {
            "type": "object",
            "required": ["text"],
            "additionalProperties": False,
            "properties": {
                "text": {"type": "string", "maxLength": LONGEST, "description": "The text of the note."},
                "title": {
                    "type": "string",
                    "pattern": "^[a-z0-9][a-z0-9-]{0,62}$",
                    "description": "The name of the note. By default it is derived from the id of the resource.",
                },
            },
        },
        "secrets": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "signature": {"type": "string", "description": "Its digest is put below the text."},
            },
        },
    },
}

OUTPUTS = {
    "type": "object",
    "required": ["title", "path", "bytes"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string"},
        "path": {"type": "string", "description": "The path in the driver's folder."},
        "bytes": {"type": "integer", "description": "The size of the file."},
        "mark": {"type": "string", "writeOnly": True, "description": "Title and signature."},
    },
}


def faults(given: Inputs) -> Faults:
    """All faults. Unknown values are not checked."""
    found = Faults()
    for part, known in KNOWN.items():
        for name in getattr(given, part):
            if name not in known:
                place = name.replace("~", "~0").replace("/", "~1")
                found.add(f"/{part}/{place}", f"is unknown; the names are {', '.join(known)}")

    def judge(part, name, fault, required=False):
        value = getattr(given, part).get(name)
        if given.is_unknown(f"/{part}/{name}") or (value is None and not required):
            return
        if value is None:
            found.add(f"/{part}/{name}", "is missing")
        elif not isinstance(value, str):
            found.add(f"/{part}/{name}", "has to be a text")
        elif message := fault(value):
            found.add(f"/{part}/{name}", message)

    too_long = lambda text: len(text.encode()) > LONGEST and "is longer than 64 KiB"
    malformed = lambda title: (
        not TITLE.fullmatch(title) and "has to be up to 63 lower-case letters, digits and dashes"
    )
    judge("values", "text", too_long, required=True)
    judge("values", "title", malformed)
    judge("secrets", "signature", lambda _: None)
    return found


def with_defaults(request: CheckRequest) -> dict:
    """Gives a note without a title a unique one."""
    values = request.inputs.values
    if values.get("title") is not None or request.inputs.is_unknown("/values/title"):
        return values
    return {**values, "title": request.subject.guresid[:12]}


def content(given: Inputs) -> bytes:
    """The content of the file. It has a digest of the signature, which is secret."""
    text = given.values["text"] + "\n"
    signature = given.secrets.get("signature")
    if signature is not None:
        text += f"-- {hashlib.sha256(signature.encode()).hexdigest()}\n"
    return text.encode()


def text(content: bytes) -> str:
    """The text of a note, without the signature."""
    return SIGNED.sub("", content.decode(errors="replace").removesuffix("\n"))
