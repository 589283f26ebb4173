"""The HTTP clients of Python send through the SDK. Packages that are not installed are skipped."""

import http.client
import importlib
import os
import sys
import unittest
import urllib.request
from unittest import mock

from purlin_driver import HttpError, clients, http as ours, outcome
from purlin_driver.http import Answer

URL = "https://api.example/v1/things?q=1"


def client(method, url, body):
    connection = http.client.HTTPSConnection("api.example")
    connection.request(method, "/v1/things?q=1", body)
    answer = connection.getresponse()
    return answer.status, answer.getheader("x-one"), answer.read()


def urlopen(method, url, body):
    with urllib.request.urlopen(urllib.request.Request(url, body, method=method)) as answer:
        return answer.status, answer.headers["x-one"], answer.read()


def urllib3(method, url, body):
    answer = sys.modules["urllib3"].PoolManager().request(method, url, body=body, retries=False)
    return answer.status, answer.headers["x-one"], answer.data


def requests(method, url, body):
    answer = sys.modules["requests"].request(method, url, data=body)
    return answer.status_code, answer.headers["x-one"], answer.content


def httpx(method, url, body):
    answer = sys.modules["httpx"].request(method, url, content=body)
    return answer.status_code, answer.headers["x-one"], answer.content


def installed():
    yield from (client, urlopen)
    for send in (urllib3, requests, httpx):
        try:
            importlib.import_module(send.__name__)
        except ImportError:
            print(f"SKIPPED: {send.__name__} is not installed", file=sys.stderr)
        else:
            yield send


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.clients = list(installed())
        # Other tests need the original state, and a proxy of this machine is useless here.
        for patch in [
            mock.patch.object(http.client.HTTPConnection, "connect"),
            mock.patch.object(http.client, "HTTPSConnection"),
            mock.patch.object(urllib.request, "HTTPSHandler"),
            mock.patch.object(urllib.request, "_opener", None),
            mock.patch.dict(os.environ, {"no_proxy": "*", "NO_PROXY": "*"}),
        ]:
            patch.start()
            cls.addClassCleanup(patch.stop)
        clients.connect()

    def setUp(self):
        self.addCleanup(setattr, ours, "transport", ours.transport)
        ours.effects.targets.clear()

    def test_requests_arrive_whole(self):
        sent = []

        def transport(request):
            sent.append((request.method, request.url, request.body, dict(request.sendable()).get("content-length")))
            return Answer(201, [("X-One", "1"), ("Transfer-Encoding", "chunked")], b"whole")

        ours.transport = transport
        for send in self.clients:
            with self.subTest(send.__name__):
                for method, body, length in [("POST", b"body", "4"), ("DELETE", None, None), ("PUT", b"", "0")]:
                    self.assertEqual(send(method, URL, body), (201, "1", b"whole"))
                    self.assertEqual(sent.pop(), (method, URL, body or b"", length))

    def test_bodies_in_pieces_are_put_together(self):
        def transport(request):
            return Answer(200, [("x-one", "1")], request.body)

        ours.transport = transport
        for send in self.clients:
            with self.subTest(send.__name__):
                self.assertEqual(send("POST", URL, iter([b"one ", b"two"]))[2], b"one two")

    def test_what_they_raise_is_the_failure_that_it_is(self):
        for kind, failure in [
            ("denied", "Denied"), ("unusable", "Failed"), ("unreachable", "RetryAfter"),
            ("untrusted", "Failed"), ("lost", "Undecided"), ("too-large", "Undecided"),
        ]:
            def transport(request):
                raise HttpError(kind, request, "it ended")

            ours.transport = transport
            for send in self.clients:
                with self.subTest(f"{send.__name__}: {kind}"):
                    ours.effects.targets.clear()
                    with self.assertRaises(Exception) as raised:
                        send("POST", URL, b"body")
                    self.assertEqual(type(outcome.of(raised.exception, True)).__name__, failure)

    def test_a_status_that_they_raise_is_the_failure_of_the_answer(self):
        raising = {
            urlopen: lambda method: urlopen(method, URL, b"body"),
            requests: lambda method: sys.modules["requests"].request(method, URL).raise_for_status(),
            httpx: lambda method: sys.modules["httpx"].request(method, URL).raise_for_status(),
        }
        for send in [send for send in raising if send in self.clients]:
            for method, status, changes, failure in [
                ("GET", 404, True, "NotFound"), ("POST", 409, True, "Conflict"), ("POST", 400, True, "Failed"),
                ("GET", 429, True, "RetryAfter"), ("POST", 429, True, "RetryAfter"),
                ("POST", 503, True, "RetryAfter"), ("POST", 500, True, "Undecided"),
                ("POST", 408, True, "Undecided"), ("GET", 500, True, "Failed"), ("POST", 500, False, "Failed"),
            ]:
                with self.subTest(f"{send.__name__}: {method} {status}"):
                    fields = [("X-Request-Id", "r-1"), *([("Retry-After", "3")] if status == 503 else [])]
                    ours.transport = lambda request: Answer(status, fields, b'{"message": "no  such"}')
                    ours.effects.targets.clear()
                    with self.assertRaises(Exception) as raised:
                        raising[send](method)
                    meant = outcome.of(raised.exception, changes)
                    self.assertEqual(type(meant).__name__, failure)
                    if failure == "RetryAfter":
                        self.assertEqual(meant.after_ms, 3000 if status == 503 else 1000)
                    elif failure != "Undecided" or send is not urlopen:
                        self.assertEqual(meant.details, {"status": str(status), "request-id": "r-1"})
                        self.assertIn(f"https://api.example/v1/things: status {status}: no such", str(meant))
                        self.assertNotIn("q=1", str(meant))

    def test_after_an_effect_a_status_is_not_the_whole_truth(self):
        statuses = iter([201, 404])
        ours.transport = lambda request: Answer(next(statuses))
        client("POST", URL, b"body")
        with self.assertRaises(Exception) as raised:
            urlopen("GET", URL, None)
        meant = outcome.of(raised.exception, True)
        self.assertEqual(type(meant).__name__, "Undecided")
        self.assertIn("`POST https://api.example/v1/things` was sent before", str(meant))
        self.assertEqual(type(outcome.of(raised.exception, False)).__name__, "NotFound")

    def test_an_answer_to_head_has_a_length_and_no_body(self):
        ours.transport = lambda request: Answer(200, [("content-length", "7"), ("x-one", "1")])
        for send in self.clients:
            with self.subTest(send.__name__):
                self.assertEqual(send("HEAD", URL, None), (200, "1", b""))

    def test_what_cannot_be_sent_is_refused(self):
        if requests in self.clients:
            with self.assertRaises(HttpError):
                sys.modules["requests"].get(URL, cert="client.pem")
        if httpx in self.clients:
            with self.assertRaisesRegex(NotImplementedError, "httpx.Client"):
                sys.modules["httpx"].AsyncClient()
            with self.assertRaisesRegex(ValueError, "proxy"):
                sys.modules["httpx"].Client(proxy="http://proxy.example")


if __name__ == "__main__":
    unittest.main()
