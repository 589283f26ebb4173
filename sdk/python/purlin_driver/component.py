"""Turns a driver into a component: converts the contract's records and exceptions."""

import encodings.idna  # for sockets: modules that are not imported now are missing later
import json
import os
import traceback
from dataclasses import fields

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log, metrics, operation, purlin_driver_types as types

from . import clients, failures, http, outcome, requests, wasi
from .driver import Driver
from .host import host

#: Places of a traceback that the operator sees.
FRAMES = 20


def export(driver: Driver) -> type:
    """The class that componentize-py looks for, under the name `Lifecycle`."""

    clients.connect()

    class Lifecycle(exports.Lifecycle):
        def describe(self):
            return info(driver)

        def check(self, request):
            return call(driver, "check", request, checked)

        def name(self, request):
            return call(driver, "name", request, str)

        def create(self, request):
            return call(driver, "create", request, state, changes=True)

        def read(self, request):
            return call(driver, "read", request, observed)

        def update_impact(self, change):
            return call(driver, "update_impact", change, impact)

        def update(self, change):
            return call(driver, "update", change, state, changes=True)

        def delete(self, request):
            return call(driver, "delete", request, lambda _: None, changes=True)

    return Lifecycle


def call(driver, function, request, answer, changes=False):
    """Calls a driver. An exception that is neither a failure nor about a request is a fault of the
    driver, which ends the call: its outcome is unknown, and the host finds out."""
    try:
        kind = driver.type_of(request.subject.type_name)
        return answer(getattr(kind, function)(record(request)))
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
    """A record of the contract as one of ours: the same fields, with JSON parsed, and pairs as dicts."""
    ours = getattr(requests, type(theirs).__name__)
    read = READ.get(ours, {})
    return ours(**{
        field.name: read.get(field.name, plain)(getattr(theirs, field.name)) for field in fields(ours)
    })


def plain(value):
    """The value of a field that is neither JSON nor pairs."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    return record(value) if hasattr(requests, type(value).__name__) else value


def documents(pairs) -> dict:
    """JSON by name."""
    return {name: json.loads(text) for name, text in pairs}


#: How to read the other fields.
READ = {
    requests.Context: {"labels": dict},
    requests.Call: {"hints": documents},
    requests.Inputs: dict.fromkeys(("values", "secrets", "params", "connection", "account"), json.loads),
    requests.ManifestFile: {"data": json.loads},
    requests.State: {"outputs": json.loads, "secrets": json.loads, "notes": documents},
}


def checked(ours: requests.Checked) -> types.Checked:
    warnings = [types.Finding(*warning) for warning in ours.warnings]
    return types.Checked(text(ours.values), text(ours.secrets), warnings)


def observed(ours: requests.Observed | None) -> types.Observed | None:
    if ours is None:
        return None
    return types.Observed(state(ours.state), None if ours.values is None else text(ours.values))


def impact(ours: requests.Impact) -> types.Impact:
    return types.Impact(ours.replaces, ours.delete_before_replace, ours.stable_outputs)


def state(ours: requests.State) -> types.State:
    files = [types.ManifestFile(file.name, file.location, text(file.data)) for file in ours.manifests]
    return types.State(
        ours.id, text(ours.outputs), text(ours.secrets), ours.cookie, files, ours.sensitive, ours.version,
        texts(ours.notes),
    )


def problem(ours: failures.Problem) -> types.Problem:
    return types.Problem(ours.message, [(name, str(value)) for name, value in ours.details.items()])


def failure(failed: failures.Failure):
    match failed:
        case failures.InvalidInputs(faults=faults):
            return types.Failure_InvalidInputs([types.Finding(*fault) for fault in faults])
        case failures.Denied(capability=capability, target=target, message=message):
            return types.Failure_Denied(types.Denial(capability, target, message))
        case failures.NotFound():
            return types.Failure_NotFound(problem(failed))
        case failures.Conflict():
            return types.Failure_Conflict(problem(failed))
        case failures.RetryAfter(after_ms=after_ms, message=message):
            return types.Failure_RetryAfter(types.Retry(int(after_ms), message))
        case failures.Pending(state=exists, after_ms=after_ms, message=message):
            shown = None if exists is None else state(exists)
            return types.Failure_Pending(types.Pending(shown, int(after_ms), message))
        case failures.Partial(state=exists):
            return types.Failure_Partial(types.Partial(state(exists), problem(failed)))
        case failures.Undecided():
            return types.Failure_Undecided(problem(failed))
        case failures.NeedsDeleteBefore():
            return types.Failure_NeedsDeleteBefore(problem(failed))
        case failures.Failed():
            return types.Failure_Failed(problem(failed))
    return types.Failure_Failed(types.Problem(str(failed), []))


def info(driver: Driver) -> types.DriverInfo:
    schemas = [
        types.TypeSchema(one.TYPE.type_name, one.implements(), text(one.TYPE.inputs), text(one.TYPE.outputs))
        for one in driver.types()
    ]
    requested = [
        types.RequestedCapability(one.capability, one.pattern, one.reason)
        for one in driver.REQUESTED_CAPABILITIES
    ]
    return types.DriverInfo(
        driver.NAME, driver.VERSION, driver.DESCRIPTION, schemas, requested, texts(driver.NOTES)
    )


def text(value) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def texts(values: dict) -> list[tuple[str, str]]:
    return [(name, text(value)) for name, value in values.items()]


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
            metrics.measure(*what)


http.transport = wasi.send
host.say = say
host.asked_to_end = operation.cancelled
host.left = operation.time_left
