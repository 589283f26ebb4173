"""Drivers of one type and of several, and what failures and the client of REST APIs say."""

import sys
import unittest
from pathlib import Path
from types import ModuleType
from unittest import mock

from purlin_driver import (
    Action, Call, Checked, Conflict, CreateRequest, DeleteRequest, Denied, Driver, Failed, Failure, Forecast,
    Impact, Inputs, InvalidInputs, NameRequest, NotFound, Observed, Part, Partial, Pending, Problem,
    ResourceType, RetryAfter, SchemaError, State, Undecided, consent, host, http
)
from purlin_driver.http import Answer
from purlin_driver.rest import Client


class Bucket(ResourceType[Inputs, None]):
    TYPE = "bucket"
    REPEAT_CREATE = True

    def name(self, request: NameRequest[Inputs]) -> str:
        return "b"

    def create(self, request: CreateRequest[Inputs]) -> State[None]:
        return State("b", None)

    def delete(self, request: DeleteRequest[Inputs, None]) -> None:
        pass


class Other(Bucket):
    TYPE = "*"
    REPEAT_CREATE = False

    def update_impact(self, change):
        raise NotImplementedError


class Shop(Driver):
    NAME = "acme/shop"
    TYPES = [Bucket()]


class Types(unittest.TestCase):
    def test_a_call_goes_to_its_type(self):
        shop = Shop()
        self.assertIs(shop.type_of("bucket"), Shop.TYPES[0])
        with self.assertRaises(Failed) as unknown:
            shop.type_of("queue")
        self.assertEqual(str(unknown.exception), "the driver does not provision `queue`; its types are bucket")
        with mock.patch.object(Shop, "TYPES", [Other(), Bucket()]):
            self.assertIs(shop.type_of("bucket"), Shop.TYPES[1])
            self.assertIs(shop.type_of("queue"), Shop.TYPES[0])

    def test_types_are_instances_with_a_name(self):
        class Nameless(ResourceType[Inputs, None]):
            def create(self, request: CreateRequest[Inputs]) -> State[None]:
                return State("b", None)

            def delete(self, request: DeleteRequest[Inputs, None]) -> None:
                pass

        for types, message in [
            ([Bucket], r"`Wrong.TYPES`: has instances: write `Bucket\(\)`"),
            ([Shop()], "`Wrong.TYPES`: has instances of subclasses of `ResourceType`"),
            (Bucket(), r"`Wrong.TYPES`: has to be a list of instances, such as `\[Bucket\(\)\]`"),
            ([], "has to be a list of instances"),
            ([Nameless()], "Nameless.TYPE`: has to be a string: write `TYPE = "),
            ([Bucket(), Bucket()], "`Wrong.TYPES`: two of them have the `TYPE` `bucket`"),
        ]:
            with self.subTest(message), self.assertRaisesRegex(SchemaError, message):
                type("Wrong", (Driver,), {"TYPES": types})

    def test_each_type_implements_what_it_overrides(self):
        self.assertEqual(Bucket.implements(), ["name", "repeat-create"])
        self.assertEqual(Other.implements(), ["name", "update-impact"])


    def test_the_driver_of_the_readme_is_one(self):
        readme = Path(__file__).parent.parent.joinpath("README.md").read_text(encoding="utf-8")
        module = ModuleType("readme")
        with mock.patch.dict(sys.modules, readme=module):
            exec(readme.split("```python\n")[1].split("```")[0], module.__dict__)
        [bucket] = module.__dict__["Acme"].TYPES
        values = bucket.inputs_form.schema["properties"]["values"]
        self.assertEqual((values["required"], values["properties"]["copies"]["default"]), (["region"], 3))
        self.assertEqual(bucket.outputs_form.secrets, {"token"})


class Previews(unittest.TestCase):
    def test_a_type_has_a_preview_if_it_overrides_it(self):
        foreseen = type("Foreseen", (Bucket,), {"preview": lambda self, effect: Forecast()})
        self.assertEqual((Bucket.previews(), foreseen.previews()), (False, True))
        # The host finds the export, so that `implements` does not name it.
        self.assertEqual(foreseen.implements(), Bucket.implements())

    def test_a_test_says_what_people_agreed_to(self):
        self.addCleanup(setattr, consent, "agreed", None)
        self.addCleanup(host.messages.clear)
        self.assertIsNone(consent.token())
        consent.agreed = b"plan"
        consent.reached("net", Action.CREATE)
        self.assertEqual((consent.token(), host.messages[-1]), (b"plan", ("reached", "net", Action.CREATE)))


class Answers(unittest.TestCase):
    def test_an_argument_of_another_type_is_a_fault_where_it_is_given(self):
        inputs, state = Inputs(), State("b", None)
        for make, message in [
            (lambda: State(7, None), "`State`: `id` has to be a string, and is of type `int`; write `str(…)`"),
            (lambda: State(None, None), "`State`: `id` has to be a string, and is `None`; write `str(…)`"),
            (lambda: State("b", None, "cookie"), "`State`: `cookie` has to be bytes, and is of type `str`"),
            (lambda: State("b", None, version="1"), "`State`: `version` has to be an integer, and is of type `str`"),
            (lambda: State("b", None, sensitive="/outputs/a"), "`State`: `sensitive` has to be a list of strings, and is of type `str`"),
            (lambda: State("b", None, notes=["a"]), "`State`: `notes` has to be a dict, and is of type `list`"),
            (lambda: State("b", None, manifests=[{}]), "`State`: each of `manifests` has to be a `ManifestFile`, and is of type `dict`"),
            (lambda: Checked({}), "`Checked`: `inputs` has to be the inputs, such as `request.inputs`, and is of type `dict`"),
            (lambda: Checked(inputs, ["long"]), "`Checked`: each of `warnings` has to be a pair, such as `(\"/values/size\", \"is too large\")`"),
            (lambda: Observed("b"), "`Observed`: `state` has to be a `State`, and is of type `str`"),
            (lambda: Impact("/values/a"), "`Impact`: `replaces` has to be a list of strings, and is of type `str`"),
            (lambda: Forecast(parts=["net"]), "`Forecast`: each of `parts` has to be a `Part`, and is of type `str`"),
            (lambda: Forecast(token="plan"), "`Forecast`: `token` has to be bytes or `None`, and is of type `str`"),
            (lambda: Part("net", "network", "create"), "`Part`: `action` has to be an `Action`, such as `Action.CREATE`, and is of type `str`"),
            (lambda: InvalidInputs("/values/a", "is wrong"), "`InvalidInputs`: each argument has to be a pair, such as `(\"/values/size\", \"is too large\")`; write `*` before a list of them"),
            (lambda: InvalidInputs([("/values/a", "is wrong")]), "`InvalidInputs`: each argument has to be a pair, such as `(\"/values/size\", \"is too large\")`; write `*` before a list of them"),
            (lambda: Pending("wait", 500), "`Pending`: `after_ms` has to be a number of milliseconds, and is of type `str`; write `Pending(5000, \"…\")`"),
            (lambda: Pending(500, "wait", "b"), "`Pending`: `state` has to be a `State`, and is of type `str`"),
            (lambda: Partial("half", state), "`Partial`: `state` has to be a `State`, and is of type `str`"),
            (lambda: RetryAfter(True, "busy"), "`RetryAfter`: `after_ms` has to be a number of milliseconds, and is of type `bool`; write `RetryAfter(5000, \"…\")`"),
            (lambda: Denied("http", 7, "no"), "`Denied`: `target` has to be a string, and is of type `int`"),
            (lambda: Conflict(ValueError("no")), "`Conflict`: `message` has to be a string, and is of type `ValueError`; write `str(…)`"),
            (lambda: Failed("no", "Busy"), "`Failed`: `details` has to be a dict, and is of type `str`"),
        ]:
            with self.subTest(message), self.assertRaises(TypeError) as fault:
                make()
            self.assertEqual(str(fault.exception), message)


class Failures(unittest.TestCase):
    def test_a_failure_is_made_from_a_message_and_details_can_be_added(self):
        failure = Conflict("it is there")
        self.assertEqual((str(failure), failure.details), ("it is there", {}))
        failure.details["code"] = "Exists"
        self.assertEqual(failure.details, {"code": "Exists"})
        self.assertEqual(Failed("no", {"code": "No"}).details, {"code": "No"})
        partial = Partial(State("b", None), "half", {"code": "Late"})
        self.assertEqual((partial.state.id, str(partial), partial.details), ("b", "half", {"code": "Late"}))

    def test_what_is_pending_may_have_a_state(self):
        self.assertIsNone(Pending(500, "it is going away").state)
        pending = Pending(500, "it starts", State("b", None))
        self.assertEqual((pending.after_ms, str(pending), pending.state.id), (500, "it starts", "b"))
        self.assertNotIsInstance(pending, Problem)
        self.assertIsInstance(pending, Failure)


class Rest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, http, "transport", http.transport)
        self.addCleanup(setattr, host, "left", host.left)
        http.effects.targets.clear()
        self.sent = 0

    def answer(self, status, body=b"{}", method="POST", **headers):
        def transport(request):
            self.sent += 1
            return Answer(status, [(name.replace("_", "-"), value) for name, value in headers.items()], body)

        http.transport = transport
        return Client("https://api.example", Call("key-1")).send(method, "/things")

    def test_failures_say_status_and_request(self):
        for status, kind in [(404, NotFound), (409, Conflict), (400, Failed), (500, Undecided)]:
            failure = self.answer(status, X_Request_Id="r-1").failure()
            self.assertIs(type(failure), kind)
            self.assertEqual(failure.details, {"status": str(status), "request-id": "r-1"})
        self.assertEqual(self.answer(404, x_amzn_requestid="a-1").failure().details["request-id"], "a-1")
        self.assertEqual(self.answer(404, x_amz_request_id="s-1").failure().details["request-id"], "s-1")
        self.assertEqual(self.answer(404).failure().details, {"status": "404"})
        with self.assertRaises(Undecided) as unreadable:
            self.answer(201, b"<p>").json()
        self.assertEqual(unreadable.exception.details, {"status": "201"})

    def test_it_says_when_to_look_again(self):
        self.assertEqual(self.answer(202).after_ms(), 1000)
        self.assertEqual(self.answer(202, retry_after="3").after_ms(), 3000)
        self.assertEqual(self.answer(202, retry_after="9" * 400).after_ms(), 86_400_000)

    def test_it_waits_only_as_long_as_the_call_has_time(self):
        host.left = lambda: 50
        failure = self.answer(503, method="GET").failure()
        self.assertEqual((type(failure), failure.after_ms, self.sent), (RetryAfter, 1000, 1))


if __name__ == "__main__":
    unittest.main()
