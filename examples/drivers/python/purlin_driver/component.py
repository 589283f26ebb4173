"""Makes a component of a driver: the contract's records to ours and back, exceptions to failures."""

import encodings.idna  # for sockets: what is not imported now is not there later
import json
import os
import traceback
from dataclasses import fields

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import lifecycle as wit
from wit_world.imports import log, metrics, operation

from . import failures, requests
from .driver import Driver
from .host import host

try:  # Where another package has `types` too, the name is longer.
    from wit_world.imports import purlin_driver_types as types
except ImportError:
    from wit_world.imports import types

#: Places of a traceback that the operator is shown.
FRAMES = 20

FUNCTIONS = ["check", "name", "read", "update_impact", "update"]


def export(driver: Driver) -> type:
    """The class that componentize-py looks for, under the name `Lifecycle`."""

    class Lifecycle(exports.Lifecycle):
        def describe(self):
            return manifest(driver)

        def check(self, request):
            checked = call(driver.check, request)
            warnings = [types.InvalidInput(*warning) for warning in checked.warnings]
            return wit.Checked(text(checked.values), text(checked.secrets), warnings)

        def name(self, request):
            return call(driver.name, request)

        def create(self, request):
            return state(call(driver.create, request))

        def read(self, request):
            seen = call(driver.read, request)
            if seen is None:
                return None
            return wit.Observed(state(seen.state), None if seen.values is None else text(seen.values))

        def update_impact(self, change):
            impact = call(driver.update_impact, change)
            return wit.Impact(impact.replaces, impact.delete_before_replace, impact.stable_outputs)

        def update(self, change):
            return state(call(driver.update, change))

        def delete(self, request):
            call(driver.delete, request)

    return Lifecycle


def call(function, request):
    """Calls a driver. What is no failure but a fault in it ends the call: nobody knows what there
    is by then, and the host finds out."""
    try:
        return function(record(request))
    except failures.Failure as failed:
        raise Err(failure(failed)) from None
    except Exception as fault:
        log.write(log.Level.WARN, traceback.format_exc(FRAMES).rstrip())
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}, in {place.name}"
        log.write(log.Level.ERROR, f"{type(fault).__name__}: {fault} ({where})")
        os._exit(1)


def record(theirs):
    """A record of the contract as one of ours: the same fields, JSON read."""
    name = type(theirs).__name__
    if name == "CheckRequest":
        previous = None if theirs.previous is None else json.loads(theirs.previous)
        return requests.CheckRequest(record(theirs.resource), record(theirs.inputs), previous)
    if name == "ManifestFile":
        return requests.ManifestFile(theirs.name, theirs.location, json.loads(theirs.data))
    ours = getattr(requests, name)
    read = {"Inputs": ("values", "secrets", "params", "connection"), "State": ("outputs", "secrets")}.get(name, ())
    found = {}
    for field in fields(ours):
        value = getattr(theirs, field.name)
        if field.name in read:
            value = json.loads(value)
        elif isinstance(value, list):
            value = [record(item) if hasattr(requests, type(item).__name__) else item for item in value]
        elif hasattr(requests, type(value).__name__):
            value = record(value)
        found[field.name] = value
    return ours(**found)


def state(ours: requests.State) -> types.State:
    files = [types.ManifestFile(file.name, file.location, text(file.data)) for file in ours.manifests]
    return types.State(ours.id, text(ours.outputs), text(ours.secrets), ours.cookie, files)


def failure(failed: failures.Failure):
    match failed:
        case failures.InvalidInputs(faults=faults):
            return types.Failure_InvalidInputs([types.InvalidInput(*fault) for fault in faults])
        case failures.Denied(capability=capability, target=target, message=message):
            return types.Failure_Denied(types.Denial(capability, target, message))
        case failures.NotFound():
            return types.Failure_NotFound(str(failed))
        case failures.Conflict():
            return types.Failure_Conflict(str(failed))
        case failures.RetryAfter(after_ms=after_ms, message=message):
            return types.Failure_RetryAfter(types.Retry(after_ms, message))
        case failures.Partial(state=exists, message=message):
            return types.Failure_Partial(types.Partial(state(exists), message))
        case failures.Undecided():
            return types.Failure_Undecided(str(failed))
        case failures.NeedsDeleteBefore():
            return types.Failure_NeedsDeleteBefore(str(failed))
    return types.Failure_Failed(str(failed))


def manifest(driver: Driver) -> wit.Manifest:
    implements = wit.Implements(0)
    for function in FUNCTIONS:
        if driver.implements(function):
            implements |= wit.Implements[function.upper()]
    if driver.REPEAT_CREATE:
        implements |= wit.Implements.REPEAT_CREATE
    schemas = [wit.TypeSchema(t.type_name, text(t.inputs), text(t.outputs)) for t in driver.TYPES]
    wishes = [wit.Wish(wish.capability, wish.pattern, wish.reason) for wish in driver.WISHES]
    return wit.Manifest(driver.NAME, driver.VERSION, driver.DESCRIPTION, implements, schemas, wishes)


def text(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def say(kind: str, *what) -> None:
    match kind:
        case "log":
            log.write(log.Level[what[0].upper()], what[1])
        case "checkpoint":
            operation.checkpoint(*what)
        case "progress":
            operation.progress(*what)
        case "count":
            metrics.count(*what)
        case "measure":
            metrics.record_value(*what)


host.say = say
host.asked_to_end = operation.cancelled
