"""The notes, as files. Python's own functions reach only granted folders."""

import errno
import os
from contextlib import suppress

from purlin_driver import Denied, Failed

#: Where the driver sees the folder that it was granted.
FOLDER = "/notes"


def path(title: str) -> str:
    return f"{FOLDER}/{title}.md"


def read(title: str) -> bytes | None:
    """The content of a note; none if it does not exist."""
    granted()
    try:
        with open(path(title), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failed("read", title, error)


def write(title: str, content: bytes) -> None:
    """Writes a note completely or not at all, even if the process is killed."""
    granted()
    try:
        with open(beside(title), "wb") as file:
            file.write(content)
        os.rename(beside(title), path(title))
    except OSError as error:
        raise failed("write", title, error)


def remove(title: str) -> None:
    """Removes a note; a missing one is fine."""
    granted()
    # Possible remains of an interrupted attempt.
    with suppress(OSError):
        os.remove(beside(title))
    try:
        os.remove(path(title))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise failed("remove", title, error)


def beside(title: str) -> str:
    return f"{FOLDER}/.{title}.tmp"


def granted() -> None:
    if not os.path.isdir(FOLDER):
        raise Denied("dirs", "/notes", "notes are kept in this folder")


def failed(what: str, title: str, error: OSError) -> Exception:
    message = f"cannot {what} the note `{title}`: {error.strerror}"
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return Denied("dirs", "/notes", message)
    return Failed(message, {"code": errno.errorcode.get(error.errno or 0, str(error.errno))})
