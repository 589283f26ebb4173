"""The driver without WebAssembly: against a transport that responds from memory."""

import json
import unittest
from dataclasses import replace

from api import Api
from project import Project
from purlin_driver import (
    Call, Change, CreateRequest, DeleteRequest, Failed, HttpError, Pending, ReadRequest, State, Subject,
    Undecided, host, http
)
from schema import Connection, ProjectInputs, ProjectOutputs, Values

CONNECTION = Connection("https://api.example/v1/", "secret")
WANTED = Values("hello", "eu", 2)
OUTPUTS = ProjectOutputs("p-1", "hello", "eu", 2)
LOST = None


def project(id, owner="me", **more):
    return {"id": id, "name": "hello", "region": "eu", "size": 2, "owner": owner, **more}


class ApiTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, http, "transport", http.transport)
        self.requests = []
        http.effects.targets.clear()
        self.api = Api(CONNECTION, Call("key-1"))

    def answers(self, *answers):
        left = iter(answers)

        def transport(request):
            self.requests.append(request)
            answer = next(left)
            if answer is LOST:
                raise HttpError("lost", request, "the connection ended before the answer")
            status, body = answer
            return http.Answer(status, [("Retry-After", "0")], json.dumps(body).encode())

        http.transport = transport

    def test_a_lost_answer_is_asked_for_again_with_the_same_key(self):
        self.answers(LOST, (429, {}), (201, project("p-1", token="shown-once")))
        self.assertEqual(self.api.create(WANTED, "me").outputs.token, "shown-once")
        self.assertEqual(len(self.requests), 3)
        for request in self.requests:
            self.assertEqual(request.target, "POST https://api.example/v1/projects")
            headers = dict(request.fields)
            self.assertEqual(headers["idempotency-key"], "key-1")
            self.assertEqual(headers["authorization"], "Bearer secret")

    def test_what_is_not_known_is_undecided(self):
        self.answers(*[LOST] * 4)
        with self.assertRaises(HttpError) as lost:
            self.api.create(WANTED, "me")
        self.assertIsInstance(lost.exception.failure(changes=True), Undecided)
        self.answers((201, {"ok": True}))
        self.assertRaises(Undecided, self.api.create, WANTED, "me")
        self.answers((400, {"error": "no such region"}))
        with self.assertRaisesRegex(Failed, "no such region") as failed:
            self.api.create(WANTED, "me")
        self.assertEqual(failed.exception.details["status"], "400")

    def test_a_project_is_found_on_any_page(self):
        others = {"items": [project("p-1", "other"), project("p-2")], "after": "2"}
        none, own = {"items": None, "after": "3"}, {"items": [project("p-3")], "after": None}
        self.answers((200, others), (200, none), (200, own))
        self.assertEqual(self.api.find("hello", "me", ["p-2"]).outputs.id, "p-3")
        urls = [request.url for request in self.requests]
        page = "https://api.example/v1/projects?name=hello"
        self.assertEqual(urls, [page, f"{page}&after=2", f"{page}&after=3"])

    def test_gone_is_deleted_and_nothing_to_read(self):
        self.answers((204, None), *[(404, {})] * 4)
        self.api.delete("a/b")
        self.api.delete("a/b")
        self.assertIsNone(self.api.get("a/b"))
        self.assertEqual(self.requests[0].url, "https://api.example/v1/projects/a%2Fb")

    def test_a_project_that_can_still_be_read_is_not_gone(self):
        self.answers((200, {}), (200, project("p-1")), (202, None))
        self.assertRaises(Pending, self.api.delete, "p-1")
        self.assertRaises(Pending, self.api.delete, "p-1")
        self.assertEqual(len(self.requests), 3)

    def test_what_cannot_be_read_is_not_taken_for_gone(self):
        self.answers((200, {"uid": "p-1"}), (200, {**project("p-1"), "id": None}), (401, {}), (200, {}))
        for _ in range(3):
            self.assertRaises(Failed, self.api.get, "p-1")
        self.assertRaises(Failed, self.api.find, "hello", "me", [])

    def test_a_project_that_is_not_ready_is_pending(self):
        subject, inputs = Subject("urn:purlin:test", "me", "project"), ProjectInputs(WANTED, CONNECTION)
        creating = project("p-1", status="creating")
        create = lambda: Project().create(CreateRequest(subject, inputs, "hello"))
        read = lambda id: Project().read(ReadRequest(subject, id, "hello", inputs))
        update = lambda: Project().update(Change(subject, State("p-1", OUTPUTS), inputs, inputs, "hello"))
        for call, answer in [
            (create, (201, {**creating, "token": "once"})),
            (create, (202, project("p-1", token="once"))),
            (lambda: read("p-1"), (200, creating)),
            (lambda: read(None), (200, {"items": [creating]})),
            (update, (202, project("p-1"))),
        ]:
            self.answers(answer)
            with self.assertRaises(Pending) as pending:
                call()
            # What exists is recorded, with the token that is shown only once.
            token = "once" if call is create else None
            self.assertEqual(pending.exception.state.outputs, replace(OUTPUTS, token=token))
            self.assertEqual(pending.exception.after_ms, 0)
        self.answers((200, project("p-1", status="ready")), (204, None), (404, {}))
        self.assertEqual(read("p-1").values, WANTED)
        Project().delete(DeleteRequest(subject, State("p-1", OUTPUTS), inputs))
        self.assertEqual(host.messages[0], ("checkpoint", "p-1", None))


if __name__ == "__main__":
    unittest.main()
