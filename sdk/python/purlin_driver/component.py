"""Turns a driver into a component: converts the contract's records and exceptions."""

import encodings.idna  # for sockets: modules that are not imported now are missing later
import json
import os
import traceback
from dataclasses import fields

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log, metrics, operation, purlin_driver_types as types

from . import clients, failures, http, outcome, preview, requests, wasi
from .driver import Driver, need_driver
from .host import host
from .inputs import GROUPS
from .records import written
from .schema import SchemaError

#: Places of a traceback that the operator sees.
FRAMES = 20


def export(driver: Driver) -> type:
    """The class that componentize-py looks for, under the name `Lifecycle`."""
    need_driver(driver)
    for one in driver.TYPES:
        if one.previews():
            what = "is not exported: write `Lifecycle, Preview = export_with_preview(…)` instead of `export`"
            raise SchemaError(f"{type(one).__qualname__}.preview", what)
    return lifecycle(driver)


def export_with_preview(driver: Driver) -> tuple[type, type]:
    """The classes that componentize-py looks for, under the names `Lifecycle` and `Preview`, of a driver with
    a type that has a `preview`."""
    need_driver(driver, "export_with_preview")
    if not any(one.previews() for one in driver.TYPES):
        what = f"no type of `{type(driver).__qualname__}` has a `preview`: write `Lifecycle = export(…)`"
        raise SchemaError("export_with_preview", what)
    if not hasattr(exports, "Preview"):
        what = f"the world has no previews: use `purlin driver build`, or give componentize-py `{WORLD}`"
        raise SchemaError("export_with_preview", what)
    # Its bindings are there only in such a world.
    from . import forecast

    class Preview(exports.Preview):
        def preview(self, effect):
            of_effect = forecast.FUNCTIONS[type(effect)]
            return call(driver, "preview", effect.value, forecast.forecast, request_of=of_effect)

    return lifecycle(driver), Preview


def lifecycle(driver: Driver) -> type:
    clients.connect()
    described = info(driver)

    class Lifecycle(exports.Lifecycle):
        def describe(self):
            return described

        def check(self, request):
            return call(driver, "check", request, checked)

        def name(self, request):
            return call(driver, "name", request, lambda name, *_: name)

        def create(self, request):
            return call(driver, "create", request, state, changes=True)

        def read(self, request):
            return call(driver, "read", request, observed)

        def update_impact(self, change):
            return call(driver, "update_impact", change, impact)

        def update(self, change):
            return call(driver, "update", change, state, changes=True)

        def delete(self, request):
            return call(driver, "delete", request, lambda *_: None, changes=True)

    return Lifecycle


#: The option of componentize-py for the world with previews, which `purlin driver build` gives it.
WORLD = "-w project:with-preview/driver"


def call(driver, function, theirs, answer, changes=False, request_of=None):
    """Calls a driver, with a request of the function, or that of another one. An exception that is neither a
    failure nor about a request is a fault of the driver, which ends the call: its outcome is unknown, and the
    host finds out."""
    kind = None
    try:
        kind = driver.type_of(theirs.subject.type_name)
        request = record(theirs, kind, request_of or function)
        result = getattr(kind, function)(request)
        needed, such = RETURNS[function]
        if not isinstance(result, needed):
            where = f"{type(kind).__qualname__}.{function}"
            given = "`None`" if result is None else f"a value of type `{type(result).__qualname__}`"
            raise TypeError(f"`{where}` has to return {such}, and returned {given}")
        return answer(result, kind, request)
    except Exception as fault:
        meant = outcome.of(fault, changes)
        if not isinstance(fault, failures.Failure):
            level = log.Level.WARN if outcome.client_failure(fault, changes) is None else log.Level.DEBUG
            log.write(level, traceback.format_exc(FRAMES).rstrip())
        if meant:
            raise Err(failure(meant, kind)) from None
        place = authors_place(traceback.extract_tb(fault.__traceback__))
        log.write(log.Level.ERROR, f"{type(fault).__name__}: {fault}{place}")
        os._exit(1)


def authors_place(frames) -> str:
    """The innermost line that the driver's author wrote, or else that of a library; empty for one of this
    package alone."""
    # Code that Python makes, such as that of dataclasses, has no file.
    theirs = [frame for frame in frames if not frame.filename.startswith((OURS, "<"))]
    own = [frame for frame in theirs if not frame.filename.startswith(LIBRARY)]
    for frame in (own or theirs)[-1:]:
        return f" ({os.path.basename(frame.filename)}:{frame.lineno}, in {frame.name})"
    return ""


#: The folders of this package and of Python's own modules, which are not beside `os` in a component.
OURS, LIBRARY = (os.path.join(os.path.dirname(path), "") for path in (__file__, os.path.dirname(json.__file__)))

#: What each function returns.
RETURNS = {
    "check": (requests.Checked, "a `Checked`, such as `Checked(request.inputs)`"),
    "name": (str, "a string"),
    "create": (requests.State, "a `State`"),
    "read": ((requests.Observed, type(None)), "an `Observed` or `None`"),
    "update_impact": (requests.Impact, "an `Impact`"),
    "update": (requests.State, "a `State`"),
    "delete": (object, "nothing"),
    "preview": (preview.Forecast, "a `Forecast`, such as `Forecast()`"),
}

#: Inputs that may be from an earlier version of the driver, by the functions that get them.
RECORDED = {
    ("check", "previous"), ("read", "inputs"), ("update_impact", "before"), ("update", "before"),
    ("delete", "inputs"),
}


def record(theirs, kind, function):
    """A record of the contract as one of ours: the same fields, with JSON read, and pairs as dicts."""
    ours = getattr(requests, type(theirs).__name__)
    read = READ.get(ours, {})
    given = {}
    for name in (field.name for field in fields(ours)):
        value = getattr(theirs, name)
        match value:
            case types.Inputs():
                given[name] = inputs(value, kind, (function, name) in RECORDED)
            case types.State():
                given[name] = recorded(value, kind)
            case _ if name in read:
                given[name] = read[name](value)
            case _:
                is_record = hasattr(requests, type(value).__name__)
                given[name] = record(value, kind, function) if is_record else value
    return ours(**given)


def inputs(theirs, kind, recorded):
    document = {name: json.loads(getattr(theirs, name)) for name in GROUPS}
    return kind.inputs_form.kind.read(document, theirs.unknown, theirs.sensitive, recorded=recorded)


def recorded(theirs, kind):
    """A state of a record."""
    form = kind.outputs_form
    outputs, sensitive = form.read(json.loads(theirs.outputs), json.loads(theirs.secrets), theirs.sensitive)
    files = [requests.ManifestFile(one.name, one.location, json.loads(one.data)) for one in theirs.manifests]
    notes = documents(theirs.notes)
    return requests.State(theirs.id, outputs, theirs.cookie, files, sensitive, theirs.version, notes)


def documents(pairs) -> dict:
    """JSON by name."""
    return {name: json.loads(text) for name, text in pairs}


#: How to read the fields that are pairs.
READ = {requests.Context: {"labels": dict}, requests.Call: {"hints": documents}}


def checked(ours: requests.Checked, kind, request) -> types.Checked:
    ours.need()
    values, secrets = (
        text(kind.inputs_form.checked(request.inputs, ours.inputs, group)) for group in ("values", "secrets")
    )
    return types.Checked(values, secrets, [types.Finding(*warning) for warning in ours.warnings])


def observed(ours: requests.Observed | None, kind, request) -> types.Observed | None:
    if ours is None:
        return None
    ours.need()
    values = None if ours.values is None else text(kind.inputs_form.observed(request.inputs, ours.values))
    return types.Observed(state(ours.state, kind), values)


def impact(ours: requests.Impact, kind, change) -> types.Impact:
    ours.need()
    places = lambda pointer: kind.outputs_form.places(pointer, change.state.sensitive)
    stable = [place for pointer in ours.stable_outputs for place in places(pointer)]
    return types.Impact(ours.replaces, ours.delete_before_replace, stable)


def state(ours: requests.State, kind, *_) -> types.State:
    ours.need()
    outputs, secrets, sensitive = kind.outputs_form.split(ours.outputs, ours.sensitive)
    files = [types.ManifestFile(file.name, file.location, text(file.data)) for file in ours.manifests]
    return types.State(
        ours.id, text(outputs), text(secrets), ours.cookie, files, sensitive, ours.version,
        texts(ours.notes),
    )


def problem(ours: failures.Problem) -> types.Problem:
    return types.Problem(ours.message, [(name, str(value)) for name, value in ours.details.items()])


def failure(failed: failures.Failure, kind):
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
            shown = None if exists is None else state(exists, kind)
            return types.Failure_Pending(types.Pending(shown, int(after_ms), message))
        case failures.Partial(state=exists):
            return types.Failure_Partial(types.Partial(state(exists, kind), problem(failed)))
        case failures.Undecided():
            return types.Failure_Undecided(problem(failed))
        case failures.NeedsDeleteBefore():
            return types.Failure_NeedsDeleteBefore(problem(failed))
        case failures.Failed():
            return types.Failure_Failed(problem(failed))
    return types.Failure_Failed(types.Problem(str(failed), []))


def info(driver: Driver) -> types.DriverInfo:
    schemas = [
        types.TypeSchema(
            one.TYPE, one.implements(), text(one.inputs_form.schema), text(one.outputs_form.form.schema)
        )
        for one in driver.TYPES
    ]
    requested = [
        types.RequestedCapability(one.capability, one.pattern, one.reason)
        for one in driver.REQUESTED_CAPABILITIES
    ]
    return types.DriverInfo(
        driver.NAME, driver.VERSION, driver.DESCRIPTION, schemas, requested, texts(driver.NOTES)
    )


def text(value) -> str:
    return json.dumps(written(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


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
