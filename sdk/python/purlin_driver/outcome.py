"""The meaning of a driver's exception for the call. This module needs no WebAssembly."""

from . import http
from .failures import Failure, Undecided

#: Packages that wrap the request's exception in their own.
CLIENTS = {"http", "httpcore", "httpx", "requests", "urllib", "urllib3"}


def of(fault: Exception, changes: bool) -> Failure | None:
    """The failure to report, from a function that `changes` something or from another. None if it
    is a fault of the driver before anything was sent: then the call crashes."""
    if isinstance(fault, Failure):
        return fault
    problem = request_problem(fault)
    if changes and http.effects.targets and not (problem and problem.undecided):
        # Something may have been changed before: no other failure is true.
        return Undecided(
            f"{type(fault).__name__}: {fault}; `{http.effects.targets[-1]}` was sent before, and may "
            "have changed something"
        )
    return problem and problem.failure(changes)


def request_problem(fault: BaseException) -> http.HttpError | None:
    """The request without an answer that an exception is about."""
    while fault is not None and not isinstance(fault, http.HttpError):
        client = type(fault).__module__.partition(".")[0] in CLIENTS
        # A fault in a handler of the driver itself is not about the request.
        fault = fault.__cause__ or (fault.__context__ if client else None)
    return fault
