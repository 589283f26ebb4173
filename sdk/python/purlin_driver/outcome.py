"""The meaning of a driver's exception for the call. This module needs no WebAssembly."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from . import http
from .failures import Failed, Failure, Undecided
from .rest import REPEATABLE, Answer

#: Packages that wrap the request's exception in their own.
CLIENTS = {"http", "httpcore", "httpx", "requests", "urllib", "urllib3"}


def of(fault: Exception, changes: bool) -> Failure | None:
    """The failure to report, from a function that `changes` something or from another. None if it
    is a fault of the driver before anything was sent: then the call crashes."""
    if isinstance(fault, Failure):
        return fault if changes else certain(fault)
    meant = client_failure(fault, changes)
    if changes and http.effects.targets and not isinstance(meant, Undecided):
        # Something may have been changed before: no other failure is true.
        return Undecided(
            f"{type(fault).__name__}: {fault}; `{http.effects.targets[-1]}` was sent before, and may "
            "have changed something"
        )
    return meant


def client_failure(fault: Exception, changes: bool) -> Failure | None:
    """The failure that an exception of an HTTP client stands for: that of a request without an answer, or of
    an answer whose status the client raises, as `raise_for_status` and `urlopen` do."""
    for one in causes(fault):
        if isinstance(one, http.HttpError):
            return one.failure(changes)
        if answer := raised_answer(one):
            return answer.failure() if changes else certain(answer.failure())
    return None


def certain(failure: Failure) -> Failure:
    """A function without effects leaves nothing undecided."""
    return Failed(failure.message, failure.details) if isinstance(failure, Undecided) else failure


def causes(fault: BaseException | None) -> Iterator[BaseException]:
    while fault is not None:
        yield fault
        client = type(fault).__module__.partition(".")[0] in CLIENTS
        # A fault in a handler of the driver itself is not about the request.
        fault = fault.__cause__ or (fault.__context__ if client else None)


def raised_answer(fault: Any) -> Answer | None:
    """The answer that an exception has: `requests`, `httpx` and what imitates them have it as `response`, and
    the exception of `urllib` is the answer. Nothing is imported for that."""
    answer = part(fault, "response")
    # An answer of `requests` with an error is false.
    answer = fault if answer is None else answer
    status, headers = part(answer, "status_code", part(answer, "code")), part(answer, "headers")
    if not isinstance(status, int) or status < 400 or not hasattr(headers, "items"):
        return None
    # `urllib` does not say the method; what was sent with effects is in `http.effects`.
    method, url = part(part(answer, "request"), "method", ""), urlsplit(str(part(answer, "url", "")))
    target = f"{method} {url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}".strip()
    content = part(answer, "content")
    try:
        body = bytes(answer.read() if content is None else content)
    except Exception:
        # It was read already, or only in parts.
        body = b""
    fields = {name.lower(): value for name, value in headers.items()}
    effects = bool(method) and method not in http.HARMLESS
    return Answer(status, fields, body, target, effects, method in REPEATABLE)


def part(of: Any, name: str, default: Any = None) -> Any:
    try:
        return getattr(of, name, default)
    except Exception:
        # `httpx` raises what is not there.
        return default
