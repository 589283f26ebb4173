"""Turns a driver into a component: converts the contract's records and exceptions."""

import encodings.idna  # for sockets: modules that are not imported now are missing later
import json
import os
import traceback
from dataclasses import fields

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import lifecycle as wit
from wit_world.imports import log, metrics, operation, purlin_driver_types as types

from . import clients, failures, http, outcome, requests, wasi
from .driver import Driver
from .host import host

#: Places of a traceback that the operator sees.
FRAMES = 20

FUNCTIONS = ["check", "name", "read", "update_impact", "update"]


def export(driver: Driver) -> type:
    """The class that componentize-py looks for, under the name `Lifecycle`."""

    clients.connect()

    class Lifecycle(exports.Lifecycle):
        def describe(self):
            return manifest(driver)

        def check(self, request):
            return call(driver.check, request, checked)

        def name(self, request):
            return call(driver.name, request, str)

        def create(self, request):
            return call(driver.create, request, state, changes=True)

        def read(self, request):
            return call(driver.read, request, observed)

        def update_impact(self, change):
            return call(driver.update_impact, change, impact)

        def update(self, change):
            return call(driver.update, change, state, changes=True)

        def delete(self, request):
            return call(driver.delete, request, lambda _: None, changes=True)

    return Lifecycle


def call(function, request, answer, changes=False):
    """Calls a driver. An exception that is neither a failure nor about a request is a fault of the
    driver, which ends the call: its outcome is unknown, and the host finds out."""
    try:
        return answer(function(record(request)))
    except Exception as fault:
        meant = outcome.of(fault, changes)
        if not isinstance(fault, failures.Failure):
            level = log.Level.WARN if outcome.request_problem(fault) is None else log.Level.DEBUG
            log.write(level, traceback.format_exc(FRAMES).rstrip())
        if meant:
            raise Err(failure(meant)) from None
        place = traceback.extract_tb(fault.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}, in {place.name}"
        log.write(log.Level.ERROR, f"{type(fault).__name__}: {fault} ({where})")
        os._exit(1)


def record(theirs):
    """A record of the contract as one of ours: the same fields, with JSON parsed."""
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


def checked(ours: requests.Checked) -> wit.Checked:
    warnings = [types.InvalidInput(*warning) for warning in ours.warnings]
    return wit.Checked(text(ours.values), text(ours.secrets), warnings)


def observed(ours: requests.Observed | None) -> wit.Observed | None:
    if ours is None:
        return None
    return wit.Observed(state(ours.state), None if ours.values is None else text(ours.values))


def impact(ours: requests.Impact) -> wit.Impact:
    return wit.Impact(ours.replaces, ours.delete_before_replace, ours.stable_outputs)


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
    requested = [
        wit.RequestedCapability(one.capability, one.pattern, one.reason)
        for one in driver.REQUESTED_CAPABILITIES
    ]
    return wit.Manifest(driver.NAME, driver.VERSION, driver.DESCRIPTION, implements, schemas, requested)


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


http.transport = wasi.send
host.say = say
host.asked_to_end = operation.cancelled
