"""Drivers for Purlin in Python: a class with a method for each function of the contract.

Here JSON is dicts and not text, a failure is an exception, and a driver implements the functions
that it overrides. `purlin_driver.component` turns it into a component; this module needs no
WebAssembly, so that tests run natively.
"""

from .driver import Driver, RequestedCapability, ResourceType, TypeSchema
from .failures import (
    Conflict, Denied, Failed, Failure, Faults, InvalidInputs, NeedsDeleteBefore, NotFound, Partial, Pending,
    Problem, RetryAfter, Undecided
)
from .host import host
from .http import HttpError
from .requests import (
    Call, Change, Checked, CheckRequest, Context, CreateRequest, DeleteRequest, Impact, Inputs,
    ManifestFile, NameRequest, Observed, ReadRequest, State, Subject
)

__all__ = [
    "Call", "Change", "CheckRequest", "Checked", "Conflict", "Context", "CreateRequest", "DeleteRequest",
    "Denied", "Driver", "Failed", "Failure", "Faults", "HttpError", "Impact", "Inputs", "InvalidInputs",
    "ManifestFile", "NameRequest", "NeedsDeleteBefore", "NotFound", "Observed", "Partial", "Pending",
    "Problem", "ReadRequest", "RequestedCapability", "ResourceType", "RetryAfter", "State", "Subject",
    "TypeSchema", "Undecided", "host",
]
