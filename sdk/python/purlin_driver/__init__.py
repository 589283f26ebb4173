"""Drivers for Purlin in Python: a class with a method for each function of the contract.

Here inputs and outputs are dataclasses and not text, a failure is an exception, and a driver implements
the functions that it overrides. `purlin_driver.component` turns it into a component; this module needs no
WebAssembly, so that tests run natively.
"""

from .driver import Driver, RequestedCapability, ResourceType
from .failures import (
    Conflict, Denied, Failed, Failure, Faults, InvalidInputs, NeedsDeleteBefore, NotFound, Partial, Pending,
    Problem, RetryAfter, Undecided
)
from .gap import UnknownValue, is_unknown
from .host import host
from .http import HttpError
from .inputs import Inputs
from .preview import Action, Effect, Forecast, Part, consent
from .requests import (
    Call, Change, Checked, CheckRequest, Context, CreateRequest, DeleteRequest, Impact, ManifestFile,
    NameRequest, Observed, ReadRequest, State, Subject
)
from .schema import Schema, SchemaError

__all__ = [
    "Action", "Call", "Change", "CheckRequest", "Checked", "Conflict", "Context", "CreateRequest",
    "DeleteRequest", "Denied", "Driver", "Effect", "Failed", "Failure", "Faults", "Forecast", "HttpError",
    "Impact", "Inputs", "InvalidInputs", "ManifestFile", "NameRequest", "NeedsDeleteBefore", "NotFound",
    "Observed", "Part", "Partial", "Pending", "Problem", "ReadRequest", "RequestedCapability", "ResourceType",
    "RetryAfter", "Schema", "SchemaError", "State", "Subject", "Undecided", "UnknownValue", "consent", "host",
    "is_unknown",
]
