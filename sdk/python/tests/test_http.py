"""The meaning of requests without an answer, and which calls they leave undecided."""

import contextlib
import threading
import unittest
from http import server as http_server

from purlin_driver import Conflict, HttpError, Undecided, http, outcome
from purlin_driver.http import Answer, Request

URL = "https://api.example/v1/things?token=hush"
HARMLESS = ["GET", "HEAD", "OPTIONS"]
HARMFUL = ["POST", "PUT", "PATCH", "DELETE"]


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.addCleanup(setattr, http, "transport", http.transport)
        http.effects.targets.clear()

    def ended(self, method, kind):
        """The exception of a driver that sends one request, which ends without an answer."""

        def transport(request):
            raise HttpError(kind, request, "it ended")

        http.effects.targets.clear()
        http.transport = transport
        with self.assertRaises(HttpError) as raised:
            http.request(method, URL)
        self.assertNotIn("hush", str(raised.exception))
        return raised.exception

    def answered(self, method, status, **headers):
        http.effects.targets.clear()
        http.transport = lambda request: Answer(status, list(headers.items()))
        return http.request(method, URL)

    def name(self, fault, changes=True):
        meant = outcome.of(fault, changes)
        return meant and type(meant).__name__

    def test_each_kind_of_error_is_a_failure_of_its_own(self):
        for kind, harmless, harmful, observing in [
            ("denied", "Denied", "Denied", "Denied"),
            ("unusable", "Failed", "Failed", "Failed"),
            ("unreachable", "RetryAfter", "RetryAfter", "RetryAfter"),
            ("untrusted", "Failed", "Failed", "Failed"),
            ("lost", "RetryAfter", "Undecided", "Failed"),
            ("too-large", "Failed", "Undecided", "Failed"),
        ]:
            for method in HARMLESS:
                self.assertEqual(self.name(self.ended(method, kind)), harmless, (method, kind))
            for method in HARMFUL:
                self.assertEqual(self.name(self.ended(method, kind)), harmful, (method, kind))
                self.assertEqual(self.name(self.ended(method, kind), changes=False), observing, (method, kind))

    def test_failures_carry_what_the_contract_asks_for(self):
        denied = outcome.of(self.ended("POST", "denied"), True)
        self.assertEqual((denied.capability, denied.target), ("http", "POST https://api.example/v1/things"))
        self.assertEqual(outcome.of(self.ended("POST", "unreachable"), True).after_ms, 1000)

    def test_after_a_request_with_effects_a_fault_leaves_the_call_undecided(self):
        fault = KeyError("id")
        self.assertIsNone(self.name(fault))
        for status in (200, 201, 204, 303, 408, 500, 502, 503):
            self.answered("POST", status)
            self.assertEqual(self.name(fault), "Undecided", status)
            self.answered("GET", status)
            self.assertIsNone(self.name(fault), status)
        for status in (400, 404, 409, 429):
            self.answered("POST", status)
            self.assertIsNone(self.name(fault), status)
        self.answered("POST", 503, **{"Retry-After": "3"})
        self.assertIsNone(self.name(fault))

        self.answered("PUT", 200)
        self.assertIn("`PUT https://api.example/v1/things` was sent before", str(outcome.of(fault, True)))
        self.assertIsNone(self.name(fault, changes=False))
        # Then not even "no server was reached" is true for the whole call.
        for kind in ("unreachable", "lost"):
            error = HttpError(kind, Request("GET", URL, []), "it ended")
            self.assertEqual(self.name(error), "Undecided", kind)
        self.assertEqual(self.name(Conflict("a driver knows better")), "Conflict")

    def test_the_error_is_found_in_what_a_client_or_a_driver_raises_of_it(self):
        lost = self.ended("POST", "lost")

        class ClientError(Exception):
            __module__ = "requests.exceptions"

        def raised(kind, cause):
            try:
                try:
                    raise lost
                except HttpError:
                    raise kind("of it") from cause
            except Exception as error:
                return error

        http.effects.targets.clear()
        implicit = raised(ClientError, None)
        implicit.__suppress_context__ = False
        self.assertEqual(self.name(implicit), "Undecided")
        self.assertEqual(self.name(raised(RuntimeError, lost)), "Undecided")
        self.assertIsNone(self.name(raised(KeyError, None)))

    def test_whatever_has_an_answer_as_the_clients_do_is_read(self):
        class Response:
            def __init__(self, status_code, **more):
                self.status_code, self.headers, self.url = status_code, {"Retry-After": "2"}, URL
                self.__dict__.update(more)

            @property
            def request(self):
                raise RuntimeError("there is none")

            def __bool__(self):
                return False

        class ApiError(Exception):
            def __init__(self, response):
                self.response = response

        http.effects.targets.clear()
        found = outcome.of(ApiError(Response(410, content=b'{"error": {"message": "gone"}}')), True)
        self.assertEqual((type(found).__name__, str(found)), ("NotFound", "https://api.example/v1/things: status 410: gone"))
        self.assertEqual(outcome.of(ApiError(Response(429)), True).after_ms, 2000)
        for other in (Response(200), Response("404"), Response(404, headers=None), None, {"status_code": 404}):
            self.assertIsNone(outcome.of(ApiError(other), True))
        # An exception of the driver that one of a client caused.
        try:
            try:
                raise ApiError(Response(404))
            except ApiError as error:
                raise RuntimeError("cannot look") from error
        except RuntimeError as error:
            self.assertEqual(self.name(error), "NotFound")

    def test_a_function_without_effects_leaves_nothing_undecided(self):
        meant = outcome.of(Undecided("it may be", {"status": "500"}), False)
        self.assertEqual((type(meant).__name__, str(meant), meant.details), ("Failed", "it may be", {"status": "500"}))
        self.assertEqual(self.name(Undecided("it may be")), "Undecided")

    def test_a_request_that_cannot_be_sent_is_unusable(self):
        for url, headers in [
            ("things", {}), ("ftp://api.example/", {}), ("https://me:hush@api.example/", {}),
            (URL, {"Host": "other.example"}),
        ]:
            with self.assertRaises(HttpError) as raised:
                Request("POST", url, list(headers.items())).sendable()
            self.assertEqual(raised.exception.kind, "unusable", url)
            self.assertNotIn("hush", str(raised.exception))

    def test_only_methods_with_a_body_tell_that_they_have_none(self):
        sent = lambda method, body=b"": Request(method, URL, [("Transfer-Encoding", "chunked")], body).sendable()
        for method in HARMLESS + ["DELETE"]:
            self.assertEqual(sent(method), [], method)
        self.assertEqual(sent("POST"), [("content-length", "0")])
        self.assertEqual(sent("DELETE", b"{}"), [("content-length", "2")])


class Handler(http_server.BaseHTTPRequestHandler):
    """Answers according to its path."""

    def do_POST(self):
        self.server.lines.append(self.requestline)
        self.server.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        if self.path == "/drop":
            return
        body = b"x" * (http.LARGEST + 1) if self.path == "/large" else b"whole"
        self.send_response(201)
        self.send_header("x-one", "1")
        self.send_header("content-length", str(len(body) + (self.path == "/half")))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    do_GET = do_DELETE = do_POST

    def log_message(self, *_):
        """Tests are quiet."""


class Native(unittest.TestCase):
    """Requests of tests, without WebAssembly."""

    def setUp(self):
        server = http_server.HTTPServer(("127.0.0.1", 0), Handler)
        server.lines, server.bodies = [], []
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.server, self.url = server, f"http://127.0.0.1:{server.server_port}"

    def kind(self, url):
        with self.assertRaises(HttpError) as raised:
            http.request("POST", url, b"body", timeout=5)
        return raised.exception.kind

    def test_a_request_is_answered(self):
        answer = http.request("post", self.url + "/a?b=c", b"body")
        self.assertEqual((answer.status, answer.headers["x-one"], answer.body), (201, "1", b"whole"))
        self.assertEqual((self.server.lines, self.server.bodies), (["POST /a?b=c HTTP/1.1"], [b"body"]))

    def test_errors_have_their_kinds(self):
        self.assertEqual(self.kind(self.url + "/drop"), "lost")
        self.assertEqual(self.kind(self.url + "/half"), "lost")
        self.assertEqual(self.kind(self.url + "/large"), "too-large")
        self.assertEqual(self.kind("http://127.0.0.1:1/"), "unreachable")
        self.assertEqual(self.kind("http://name.invalid/"), "untrusted")
        self.assertEqual(self.kind("ftp://127.0.0.1/"), "unusable")


if __name__ == "__main__":
    unittest.main()
