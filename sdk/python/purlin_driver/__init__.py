"""Drivers for Purlin in Python: a class with a method for each function of the contract.

Here JSON is dicts and not text, a failure is an exception, and a driver implements the functions
that it overrides. `purlin_driver.component` turns it into a component; this module needs no
WebAssembly, so that tests run natively.
"""

from .driver import Driver, RequestedCapability, TypeSchema
from .failures import (
    Conflict, Denied, Failed, Failure, Faults, InvalidInputs, NeedsDeleteBefore, NotFound, Partial,
    RetryAfter, Undecided
)
from .host import host
from .http import HttpError
from .requests import (
    Call, Change, Checked, CheckRequest, Context, CreateRequest, DeleteRequest, Impact, Inputs,
    ManifestFile, NameRequest, Observed, ReadRequest, Resource, State
)

__all__ = [
    "Call", "Change", "CheckRequest", "Checked", "Conflict", "Context", "CreateRequest", "DeleteRequest",
    "Denied", "Driver", "Failed", "Failure", "Faults", "HttpError", "Impact", "Inputs", "InvalidInputs",
    "ManifestFile", "NameRequest", "NeedsDeleteBefore", "NotFound", "Observed", "Partial",
    "ReadRequest", "RequestedCapability", "Resource", "RetryAfter", "State", "TypeSchema", "Undecided",
    "host",
]
