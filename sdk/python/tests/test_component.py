"""The component without WebAssembly: with the bindings that componentize-py generates, and a host that
records what it is told. Skipped if componentize-py is not installed."""

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from unittest import mock

import purlin_driver
from purlin_driver import (
    Action, Change, Checked, Conflict, CreateRequest, DeleteRequest, Denied, Driver, Failed, Faults, Forecast,
    Impact, Inputs, InvalidInputs, ManifestFile, NeedsDeleteBefore, NotFound, Observed, Part, Partial, Pending,
    RequestedCapability, ResourceType, RetryAfter, Schema, SchemaError, State, Undecided, consent, host, http,
    is_unknown
)

#: Integers that every SDK keeps.
NUMBERS = '{"most":18446744073709551615,"least":-9223372036854775808,"real":0.1}'


def componentize_py() -> str | None:
    """The program, which may be beside that of Python."""
    path = f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', '')}"
    return shutil.which("componentize-py", path=path)


@dataclass
class ThingInputs(Inputs):
    values: dict[str, Any]
    connection: dict[str, str]
    account: dict[str, str]


@dataclass
class PlainValues:
    size: int
    count: int = 1


@dataclass
class PlainInputs(Inputs):
    values: PlainValues


@dataclass
class PlainOutputs:
    host: str
    token: Annotated[str | None, Schema(secret=True)] = None


class Thing(ResourceType[ThingInputs, dict[str, Any]]):
    """Returns what it is given."""

    TYPE = "thing"
    REPEAT_CREATE = True

    def __init__(self):
        self.seen = []
        self.answer = None

    def take(self, request):
        self.seen.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def check(self, request):
        return self.take(request)

    def create(self, request):
        return self.take(request)

    def read(self, request):
        return self.take(request)

    def update_impact(self, change):
        return self.take(change)

    def update(self, change):
        return self.take(change)

    def delete(self, request):
        return self.take(request)


class Plain(ResourceType[PlainInputs, PlainOutputs]):
    TYPE = "plain"

    def check(self, request):
        request.inputs.values.size += 1
        return Checked(request.inputs)

    def create(self, request):
        return State("plain-1", PlainOutputs("h", f"size {request.inputs.values.size}"))

    def read(self, request):
        return Observed(State("plain-1", PlainOutputs("h")), {"siz": 7})

    def update_impact(self, change):
        return Impact(stable_outputs=["/outputs/host", "/outputs/token"])

    def delete(self, request):
        request.state.outputs.host.upper()


class Foreseen(Thing):
    """The same, with a preview."""

    TYPE = "foreseen"

    def preview(self, effect):
        return self.take(effect)


class Shop(Driver):
    NAME = "acme/shop"
    VERSION = "1.2.3"
    DESCRIPTION = "Things."
    TYPES = [Thing(), Plain()]
    REQUESTED_CAPABILITIES = [
        RequestedCapability("http", "the server of the inputs"),
        RequestedCapability("dns", "its own name", "shop.example"),
    ]
    NOTES = {"license": "Apache-2.0", "numbers": [2**64 - 1]}


class Seer(Shop):
    TYPES = [Foreseen(), Plain()]


@unittest.skipUnless(componentize_py(), "SKIPPED: componentize-py is not installed")
class Component(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        wit = Path(purlin_driver.__file__).parent / "wit"
        world = "project:with-preview/driver"
        made = [componentize_py(), "-d", wit, "-w", world, "bindings", f"{folder.name}/made"]
        subprocess.run(made, check=True, capture_output=True)
        sys.path.insert(0, f"{folder.name}/made")
        cls.addClassCleanup(sys.path.remove, f"{folder.name}/made")
        # What it connects is put back.
        for object, name in [
            (http, "transport"), (host, "say"), (host, "asked_to_end"), (host, "left"), (consent, "find"),
            (consent, "say"),
        ]:
            cls.addClassCleanup(setattr, object, name, getattr(object, name))
        cls.component = importlib.import_module("purlin_driver.component")
        cls.types = cls.component.types
        cls.forecast = importlib.import_module("purlin_driver.forecast")
        cls.previews = cls.forecast.types
        cls.Err = cls.component.Err

    def setUp(self):
        http.effects.targets.clear()
        self.thing = Shop.TYPES[0]
        self.thing.seen.clear()

    def call(self, function, request, answer=None, driver=None):
        """Calls a driver as the host does; `Thing` answers with this."""
        self.thing.answer = answer
        # Other tests need the HTTP clients as they are.
        with mock.patch.object(self.component.clients, "connect"):
            lifecycle = self.component.export(driver or Shop())()
        return getattr(lifecycle, function)(*([] if request is None else [request]))

    def foresee(self, kind, request, answer=None, type_name="foreseen"):
        """Asks a driver what an effect would make, as the host does; `Foreseen` answers with this."""
        self.seer, request.subject = Seer.TYPES[0], self.subject(type_name)
        self.seer.answer = answer
        with mock.patch.object(self.component.clients, "connect"):
            _, preview = self.component.export_with_preview(Seer())
        return preview().preview(getattr(self.previews, f"Effect_{kind}")(request))

    def fails(self, function, request, answer):
        with self.assertRaises(self.Err) as failed:
            self.call(function, request, answer)
        return failed.exception.value

    def subject(self, type_name="thing"):
        labels = [("owner", "me"), ("a b", "ü")]
        context = self.types.Context("org", "app", "dev", "development", None, labels)
        return self.types.Subject("urn:purlin:x", "0123", type_name, "default", "externals.x", context)

    def inputs(self, values='{"a":null}', account="{}"):
        unknown = ["/values/a"] if '"a":null' in values else []
        sensitive = ["/connection/server"]
        return self.types.Inputs(values, "{}", "{}", '{"server":"s"}', account, unknown, sensitive)

    def its_call(self):
        return self.types.Call("key-1", 2**63, [("batch", NUMBERS), ("dry", "true")])

    def state(self):
        files = [self.types.ManifestFile("a.yaml", "cluster", NUMBERS)]
        sensitive = ["/outputs/list/0", "/manifests/a.yaml/least"]
        outputs = NUMBERS[:-1] + ',"list":[1]}'
        return self.types.State(
            "id-1", outputs, '{"token":"hush"}', b"\0\xff", files, sensitive,
            2**32 - 1, [("console-url", '"https://shop.example"'), ("numbers", NUMBERS)],
        )

    def change(self):
        inputs = self.inputs()
        return self.types.Change(self.subject(), self.state(), inputs, inputs, "n", self.its_call())

    def create(self, type_name="thing", values='{"a":null}'):
        return self.types.CreateRequest(self.subject(type_name), self.inputs(values), "n", None, self.its_call())

    def delete(self):
        return self.types.DeleteRequest(self.subject(), self.state(), self.inputs(), True, self.its_call())

    def read(self, state=None):
        subject, inputs = self.subject(), self.inputs()
        return self.types.ReadRequest(subject, "id-1", "n", inputs, state, ["other"], self.its_call())

    def test_it_describes_each_type(self):
        info = self.call("describe", None)
        self.assertEqual((info.name, info.version, info.description), ("acme/shop", "1.2.3", "Things."))
        self.assertEqual(info.notes, [("license", '"Apache-2.0"'), ("numbers", "[18446744073709551615]")])
        self.assertEqual(info.types, [
            self.types.TypeSchema(
                "thing", ["check", "read", "update-impact", "update", "repeat-create"],
                '{"type":"object","properties":{"values":{"type":"object"},"connection":{"type":"object",'
                '"additionalProperties":{"type":"string"}},"account":{"type":"object",'
                '"additionalProperties":{"type":"string"}}}}',
                '{"type":"object"}',
            ),
            self.types.TypeSchema(
                "plain", ["check", "read", "update-impact"],
                '{"type":"object","required":["values"],"properties":{"values":{"type":"object","required":'
                '["size"],"additionalProperties":false,"properties":{"size":{"type":"integer"},"count":'
                '{"type":"integer","default":1}}}}}',
                '{"type":"object","required":["host"],"additionalProperties":false,"properties":{"host":'
                '{"type":"string"},"token":{"type":"string","writeOnly":true}}}',
            ),
        ])
        self.assertEqual(info.requested_capabilities, [
            self.types.RequestedCapability("http", None, "the server of the inputs"),
            self.types.RequestedCapability("dns", "shop.example", "its own name"),
        ])

    def test_a_driver_that_cannot_be_described_cannot_be_built(self):
        class Nameless(Driver):
            TYPES = [Plain()]

        def describe(driver):
            return self.call("describe", None, driver=driver)

        self.assertRaisesRegex(SchemaError, "Nameless.NAME`: has to be a string", describe, Nameless())
        self.assertRaisesRegex(SchemaError, r"write `export\(Shop\(\)\)`", describe, Shop)
        self.assertRaisesRegex(SchemaError, "subclass of `Driver`", describe, Plain())
        with mock.patch.object(Shop, "TYPES", []):
            self.assertRaisesRegex(SchemaError, "Shop.TYPES`: has to be a list of instances", describe, Shop())

    def test_inputs_and_outputs_are_typed(self):
        wrong = self.fails("create", self.create("plain", '{"size":"big"}'), None)
        self.assertEqual(wrong, self.types.Failure_InvalidInputs([
            self.types.Finding("/values/size", "has to be an integer"),
        ]))
        created = self.call("create", self.create("plain", '{"size":3}'))
        self.assertEqual((created.outputs, created.secrets), ('{"host":"h"}', '{"token":"size 3"}'))
        request = lambda values: self.types.CheckRequest(
            self.subject("plain"), self.inputs(values), None, self.its_call()
        )
        # A default that was not given is not added.
        self.assertEqual(self.call("check", request('{"size":3}')).values, '{"size":4}')
        self.assertEqual(self.call("check", request('{"size":3,"count":1}')).values, '{"size":4,"count":1}')

    def test_an_answer_of_another_type_is_named(self):
        check = self.types.CheckRequest(
            self.subject(), self.inputs("{}"), None, self.its_call()
        )
        read = self.types.ReadRequest(
            self.subject(), "id-1", "n", self.inputs("{}"), None, [], self.its_call()
        )
        longer = Checked(ThingInputs({}, {}, {}))
        longer.warnings.append("long")
        late = State("id-1", {})
        late.id = 7
        for function, request, answer, message in [
            ("create", self.create(), None, "`Thing.create` has to return a `State`, and returned `None`"),
            ("create", self.create(), {"host": "h"}, "`Thing.create` has to return a `State`, and returned a value of type `dict`"),
            ("create", self.create(), late, "`State`: `id` has to be a string, and is of type `int`; write `str(…)`"),
            ("check", check, None, "`Thing.check` has to return a `Checked`, such as `Checked(request.inputs)`"),
            ("check", check, longer, "`Checked`: each of `warnings` has to be a pair"),
            ("read", read, State("id-1", {}), "`Thing.read` has to return an `Observed` or `None`, and returned a value of type `State`"),
        ]:
            with self.subTest(message):
                told = self.ends(function, request, answer)
                self.assertEqual(told[:len(message) + 11], f"TypeError: {message}")
                # No line of the package is named.
                self.assertNotRegex(told, r"\.py:\d")
        request = self.types.NameRequest(self.subject(), self.inputs("{}"), self.its_call())
        with mock.patch.object(Thing, "name", lambda *_: None):
            self.assertIn("`Thing.name` has to return a string", self.ends("name", request))

    def test_a_fault_is_told_with_the_line_of_its_author(self):
        unknown = self.types.Inputs('{"size":null}', "{}", "{}", "{}", "{}", ["/values/size"], [])
        request = self.types.CheckRequest(self.subject("plain"), unknown, None, self.its_call())
        self.assertRegex(self.ends("check", request), r"before you use it \(test_component\.py:\d+, in check\)$")
        with mock.patch.object(Plain, "create", lambda *_: importlib.import_module("no.such")):
            # Python's own lines are not the author's either.
            told = self.ends("create", self.create("plain", '{"size":3}'))
        self.assertRegex(told, r"^ModuleNotFoundError: .* \(test_component\.py:\d+, in <lambda>\)$")
        with mock.patch.object(Plain, "create", lambda *_: State(7, None)):
            told = self.ends("create", self.create("plain", '{"size":3}'))
        self.assertRegex(told, r"`id` has to be a string, .* \(test_component\.py:\d+, in <lambda>\)$")
        library = self.component.LIBRARY
        frames = [mock.Mock(filename=f"{library}json/decoder.py", lineno=3)]
        frames[0].name = "decode"
        self.assertEqual(self.component.authors_place(frames), " (decoder.py:3, in decode)")

    def ends(self, function, request, answer=None):
        """The message with which a call ends."""
        return self.ends_of(lambda: self.call(function, request, answer))

    def ends_of(self, call):
        told, kinds = [], self.component.log.Level
        exits = mock.patch.object(self.component.os, "_exit", side_effect=SystemExit)
        with exits, mock.patch.object(self.component.log, "write", lambda *what: told.append(what)):
            self.assertRaises(SystemExit, call)
        self.assertEqual(told[-1][0], kinds.ERROR)
        return told[-1][1]

    def test_a_fault_of_the_driver_ends_the_call_and_is_told(self):
        subject, inputs = self.subject("plain"), self.inputs('{"size":3}')
        unknown = self.types.Inputs('{"size":null}', "{}", "{}", "{}", "{}", ["/values/size"], [])
        request = self.types.CheckRequest(subject, unknown, None, self.its_call())
        self.assertIn("UnknownValue: `/values/size` is not known yet", self.ends("check", request))
        request = self.types.ReadRequest(subject, "id-1", "n", inputs, None, [], self.its_call())
        self.assertIn("ValueError: `/values/siz` is no input; these are size, count", self.ends("read", request))

    def test_what_an_earlier_version_recorded_fails_only_where_it_is_used(self):
        old = self.types.State("id-1", '{"gone":1}', '{"token":"t"}', b"", [], [], 0, [])
        inputs = self.inputs('{"size":"big"}')
        request = self.types.DeleteRequest(self.subject("plain"), old, inputs, False, self.its_call())
        failed = self.fails("delete", request, None)
        self.assertIn("another version of the driver: `/outputs/host` is missing", failed.value.message)

    def test_calls_go_to_their_type(self):
        self.assertEqual(self.call("create", self.create(), State("thing-1", {})).id, "thing-1")
        self.assertEqual(self.call("create", self.create("plain", '{"size":3}')).id, "plain-1")
        self.assertEqual(len(self.thing.seen), 1)
        failed = self.fails("create", self.create("queue"), State("thing-1", {}))
        self.assertIsInstance(failed, self.types.Failure_Failed)
        self.assertIn("does not provision `queue`", failed.value.message)

    def test_requests_arrive_whole(self):
        previous = self.inputs('{"size":3}', "{}")
        inputs = self.inputs(NUMBERS[:-1] + ',"a":null}', '{"name":"acme/a"}')
        request = self.types.CheckRequest(self.subject(), inputs, previous, self.its_call())
        checked = Checked(ThingInputs({"size": 2**64 - 1}, {}, {}), [("/values/size", "is large")])
        answer = self.call("check", request, checked)
        self.assertEqual((answer.values, answer.secrets), ('{"size":18446744073709551615}', "{}"))
        self.assertEqual(answer.warnings, [self.types.Finding("/values/size", "is large")])
        [seen] = self.thing.seen
        self.assertEqual((seen.subject.local_name, seen.subject.type_name), ("externals.x", "thing"))
        context = seen.subject.context
        self.assertEqual((context.org, context.namespace), ("org", None))
        self.assertEqual(context.labels, {"owner": "me", "a b": "ü"})
        self.assertEqual(seen.inputs.account, {"name": "acme/a"})
        numbers = {"most": 2**64 - 1, "least": -(2**63), "real": 0.1}
        self.assertTrue(is_unknown(seen.inputs.values.pop("a")))
        self.assertEqual(seen.inputs.values, numbers)
        self.assertEqual(seen.inputs.unknown, ["/values/a"])
        self.assertEqual(seen.inputs.sensitive, ["/connection/server"])
        self.assertEqual(seen.previous.values, {"size": 3})
        self.assertEqual(seen.previous.account, {})
        self.assertEqual((seen.call.idempotency_key, seen.call.deadline), ("key-1", 2**63))
        self.assertEqual(seen.call.hints, {"batch": numbers, "dry": True})

        self.call("delete", self.delete())
        self.assertTrue(self.thing.seen[-1].data_loss_allowed)

    def test_an_account_that_is_not_described_arrives_as_json(self):
        request, names = self.create("plain"), []
        request.inputs = self.inputs('{"size":3}', '{"name":"acme/a"}')
        create = lambda _, its: names.append(its.inputs.document["account"]) or State("plain-1", PlainOutputs("h"))
        with mock.patch.object(Plain, "create", create):
            self.call("create", request)
        self.assertEqual(names, [{"name": "acme/a"}])

    def test_a_state_comes_back_as_it_was(self):
        change = self.change()
        self.fails("update", change, Failed("not yet"))
        theirs = self.thing.seen[-1]
        self.assertIsInstance(theirs, Change)
        self.assertEqual(theirs.state.version, 2**32 - 1)
        self.assertEqual(theirs.state.notes["console-url"], "https://shop.example")
        self.assertEqual(theirs.state.outputs["token"], "hush")
        self.assertEqual(self.call("update", change, theirs.state), self.state())
        self.assertEqual(self.call("read", self.read(self.state()), Observed(theirs.state)).state, self.state())
        bare = self.call("create", self.create(), State("id-2", {}))
        self.assertEqual(bare, self.types.State("id-2", "{}", "{}", b"", [], [], 0, []))
        self.assertIsNone(self.call("read", self.read(), None))

    def test_places_that_hold_secrets_are_named(self):
        state = State("id-1", {"urls": ["x"]}, manifests=[ManifestFile("a", "cluster", {"b": "c"})],
                      sensitive=["/outputs/urls/0", "/manifests/a/b"])
        answer = self.call("create", self.create(), state)
        self.assertEqual(answer.sensitive, ["/outputs/urls/0", "/manifests/a/b"])

    def test_an_effect_is_foreseen_from_the_request_of_its_function(self):
        create = self.create()
        create.replaces = "id-0"
        for kind, request, its in [
            ("Create", create, CreateRequest), ("Update", self.change(), Change),
            ("Delete", self.delete(), DeleteRequest),
        ]:
            answer = self.foresee(kind, request, Forecast())
            self.assertEqual(answer, self.previews.Forecast("{}", "{}", [], [], [], None, []))
            self.assertIs(type(self.seer.seen[-1]), its)
        created, changed, deleted = self.seer.seen[-3:]
        self.assertEqual((created.replaces, is_unknown(created.inputs.values["a"])), ("id-0", True))
        self.assertEqual((changed.state.outputs["token"], is_unknown(changed.after.values["a"])), ("hush", True))
        self.assertTrue(deleted.data_loss_allowed)
        # What is recorded may be wrong, and what would be applied may not.
        self.assertEqual(self.foresee("Create", self.create("plain", '{"size":3}'), type_name="plain").parts, [])
        with self.assertRaises(self.Err) as wrong:
            self.foresee("Create", self.create("plain", '{"size":"big"}'), type_name="plain")
        finding = self.types.Finding("/values/size", "has to be an integer")
        self.assertEqual(wrong.exception.value, self.types.Failure_InvalidInputs([finding]))

    def test_a_forecast_arrives_whole(self):
        part = Part(
            "module.db", "database", Action.DELETE_THEN_CREATE, {"size": 2**64 - 1}, {"size": None}, "db",
            ["/after/size"], ["/before/key"], ["/after/size"], "every table", {"reason": "it moved"},
        )
        bare = Part("net", "network", Action.NONE)
        forecast = Forecast(
            {"host": "h", "urls": [None], "token": "t"}, ["/outputs/urls/0", "/outputs/token"], ["/outputs/token"],
            [part, bare], b"\0\xff", {"cost": 3},
        )
        their, action = self.previews.Part, self.previews.Action
        parts = [
            their(
                "module.db", "db", "database", action.DELETE_THEN_CREATE, '{"size":18446744073709551615}',
                '{"size":null}', ["/after/size"], ["/before/key"], ["/after/size"], "every table",
                [("reason", '"it moved"')],
            ),
            their("net", None, "network", action.NONE, None, None, [], [], [], None, []),
        ]
        self.assertEqual(self.foresee("Create", self.create(), forecast), self.previews.Forecast(
            '{"host":"h","urls":[null]}', '{"token":"t"}', ["/outputs/urls/0", "/secrets/token"], [], parts,
            b"\0\xff", [("cost", "3")],
        ))

    def test_certain_outputs_are_of_their_class_or_some_of_them(self):
        plain = lambda outputs: mock.patch.object(Plain, "preview", lambda *_: Forecast(outputs))
        foresee = lambda: self.foresee("Create", self.create("plain", '{"size":3}'), type_name="plain")
        with plain(PlainOutputs("h", "t")):
            self.assertEqual((foresee().outputs, foresee().secrets), ('{"host":"h"}', '{"token":"t"}'))
        with plain({"token": "t"}):
            self.assertEqual((foresee().outputs, foresee().secrets), ("{}", '{"token":"t"}'))
        for outputs, message in [
            ({"hots": "h"}, "ValueError: `/outputs/hots` is no output; these are host, token"),
            ("h", "TypeError: outputs are `PlainOutputs`, not `str`"),
        ]:
            with plain(outputs):
                self.assertIn(message, self.ends_of(foresee))

    def test_a_wrong_forecast_is_a_fault_and_a_failure_is_one(self):
        late = Forecast(parts=[Part("net", "network", Action.NONE)])
        late.parts[0].action = "none"
        for answer, message in [
            (None, "`Foreseen.preview` has to return a `Forecast`, such as `Forecast()`, and returned `None`"),
            (late, "`Part`: `action` has to be an `Action`, such as `Action.CREATE`, and is of type `str`"),
        ]:
            self.assertIn(message, self.ends_of(lambda: self.foresee("Create", self.create(), answer)))
        for raised, name in [(NotFound("no"), "NotFound"), (Undecided("no"), "Failed")]:
            with self.assertRaises(self.Err) as failed:
                self.foresee("Create", self.create(), raised)
            self.assertIsInstance(failed.exception.value, getattr(self.types, f"Failure_{name}"))

    def test_a_component_exports_previews_if_its_driver_has_one(self):
        export, with_preview = self.component.export, self.component.export_with_preview
        for make, driver, message in [
            (export, Seer(), r"`Foreseen.preview`: is not exported: write `Lifecycle, Preview = export_with_preview"),
            (with_preview, Shop(), "no type of `Shop` has a `preview`: write `Lifecycle = export"),
            (with_preview, Seer, r"write `export_with_preview\(Seer\(\)\)`"),
        ]:
            self.assertRaisesRegex(SchemaError, message, make, driver)
        with mock.patch.object(self.component, "exports", object()):
            self.assertRaisesRegex(SchemaError, "-w project:with-preview/driver", with_preview, Seer())
        self.assertEqual(Foreseen.implements(), Thing.implements())

    def test_an_effect_asks_what_people_agreed_to(self):
        told = []
        reached = mock.patch.object(self.forecast.theirs, "reached", lambda *what: told.append(what))
        with reached, mock.patch.object(self.forecast.theirs, "token", lambda: b"\0plan"):
            self.assertEqual(consent.token(), b"\0plan")
            consent.reached("net", Action.CREATE_THEN_DELETE)
        self.assertEqual(told, [("net", self.previews.Action.CREATE_THEN_DELETE)])

    def test_an_impact_names_outputs_by_their_place(self):
        answer = self.call("update_impact", self.change(), Impact(stable_outputs=["/outputs/host"]))
        self.assertEqual(answer, self.types.Impact([], False, ["/outputs/host"]))
        state = self.types.State("id-1", '{"host":"h"}', "{}", b"", [], [], 0, [])
        inputs = self.inputs('{"size":3}')
        change = self.types.Change(self.subject("plain"), state, inputs, inputs, "n", self.its_call())
        self.assertEqual(self.call("update_impact", change).stable_outputs, ["/outputs/host", "/secrets/token"])

    def test_failures_carry_their_details(self):
        details = {"code": "Busy", "status": 409}
        problem = self.types.Problem("no", [("code", "Busy"), ("status", "409")])
        for raised, name in [
            (NotFound("no", details), "NotFound"), (Conflict("no", details), "Conflict"),
            (Failed("no", details), "Failed"), (Undecided("no", details), "Undecided"),
            (NeedsDeleteBefore("no", details), "NeedsDeleteBefore"),
        ]:
            failed = self.fails("create", self.create(), raised)
            self.assertEqual(failed, getattr(self.types, f"Failure_{name}")(problem))
        partial = self.fails("create", self.create(), Partial(State("id-1", {}), "no", details))
        self.assertEqual((partial.value.state.id, partial.value.problem), ("id-1", problem))
        self.assertEqual(self.fails("create", self.create(), Failed("no")).value, self.types.Problem("no", []))
        retry = self.fails("create", self.create(), RetryAfter(1.5e3, "busy"))
        self.assertEqual(retry.value, self.types.Retry(1500, "busy"))
        denied = self.fails("create", self.create(), Denied("http", "t", "why"))
        self.assertEqual(denied.value, self.types.Denial("http", "t", "why"))
        faults = Faults()
        faults.add("/values/a", "is wrong")
        findings = self.fails("check", self.create(), InvalidInputs(*faults))
        self.assertEqual(findings.value, [self.types.Finding("/values/a", "is wrong")])

    def test_what_is_pending_is_told(self):
        state = State("id-1", {"token": "once"}, sensitive=["/outputs/token"], notes={"health": "starting"})
        for function, request in [("create", self.create()), ("update", self.change()), ("read", self.read())]:
            pending = self.fails(function, request, Pending(2000, "it starts", state))
            self.assertIsInstance(pending, self.types.Failure_Pending)
            self.assertEqual((pending.value.after_ms, pending.value.message), (2000, "it starts"))
            self.assertEqual(pending.value.state.secrets, '{"token":"once"}')
            self.assertEqual(pending.value.state.notes, [("health", '"starting"')])
        for function, request in [("read", self.read()), ("delete", self.delete())]:
            pending = self.fails(function, request, Pending(2000, "it is going away"))
            self.assertIsNone(pending.value.state)

    def test_the_host_is_told_as_the_contract_says(self):
        told = []
        record = lambda *what: told.append(what)
        with mock.patch.object(self.component.operation, "checkpoint", record):
            host.checkpoint("id-1")
            host.checkpoint("id-1", b"\0\1")
        with mock.patch.object(self.component.metrics, "measure", record):
            host.measure("wait_ms", 1.5)
        self.assertEqual(told, [("id-1", None), ("id-1", b"\0\1"), ("wait_ms", 1.5)])

    def test_after_a_crash_the_cookie_of_the_checkpoint_is_there(self):
        state = self.types.State("id-1", "{}", "{}", b"\0\1", [], [], 0, [])
        self.call("read", self.read(state), None)
        self.assertEqual(self.thing.seen[-1].state, State("id-1", {}, cookie=b"\0\1"))


if __name__ == "__main__":
    unittest.main()
