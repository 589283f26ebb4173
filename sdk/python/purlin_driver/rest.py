"""A client for REST APIs that use JSON: it repeats requests that may be repeated, and maps answers to
failures. It sends through `http`, so tests replace `http.transport`."""

import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from . import http
from .failures import Conflict, Failed, Failure, NotFound, RetryAfter, Undecided
from .host import host
from .requests import Call

#: Methods whose requests are harmless when they arrive twice.
REPEATABLE = {"GET", "HEAD", "OPTIONS", "PUT", "DELETE"}
#: Seconds of the longest wait between two attempts.
LONGEST_WAIT = 10
#: Seconds until a failed request may be sent again, if the server does not say so, and the longest time that
#: it may say.
AGAIN, LATEST = 1, 24 * 60 * 60
#: Headers with the id that the server gave the request.
REQUEST_IDS = ("x-request-id", "x-amzn-requestid", "x-amz-request-id")
#: Places where APIs put error messages.
MESSAGE_FIELDS = ("message", "error_description", "error", "detail", "title", "reason")


def segment(text: str) -> str:
    """A text as one segment of a path: a slash in it is encoded too."""
    return text.replace(".", "%2E") if text in (".", "..") else quote(text, safe="")


@dataclass
class Answer:
    """The server's answer, whatever its status."""

    status: int
    headers: dict[str, str]
    body: bytes
    target: str
    effects: bool
    repeatable: bool

    def success(self) -> "Answer":
        """The answer itself if its status is one of 200 to 299. Raises `failure()` otherwise."""
        if 200 <= self.status < 300:
            return self
        raise self.failure()

    def json(self) -> Any:
        """The body as JSON. A request with effects whose answer cannot be read was carried out."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            kind = Undecided if self.effects and self.status < 300 else Failed
            raise kind(f"{self.target}: the answer is not JSON: {error}", self.details()) from None

    def retry_after(self) -> float | None:
        """Seconds after which the server wants the next attempt, if it says so."""
        text = self.headers.get("retry-after", "").strip()
        if text.isdecimal():
            return float(text)
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (TypeError, ValueError):
            return None

    def after_ms(self) -> int:
        """Milliseconds after which to ask again: as the server says, or a second."""
        after = self.retry_after()
        return int(min(AGAIN if after is None else after, LATEST) * 1000)

    def details(self) -> dict[str, str]:
        """Facts for people about a failure: its status, and the request's id."""
        ids = [self.headers[name] for name in REQUEST_IDS if name in self.headers]
        return {"status": str(self.status), **({"request-id": ids[0]} if ids else {})}

    def asks_again(self) -> bool:
        """Whether another attempt is useful and harmless."""
        if self.status == 503:
            return self.repeatable or self.retry_after() is not None
        return self.status == 429 or (self.repeatable and self.status in (408, 425, 502, 504))

    def failure(self) -> Failure:
        """The failure of this answer, with its details: 404 and 410 are not found, 409 and 412 a conflict. If
        the server gave up in the middle of a request with effects, it is undecided."""
        text = f"{self.target}: status {self.status}{self.server_message()}"
        # A 501 or 505 was understood and rejected.
        certain = self.status in (501, 505) or (self.status == 503 and self.retry_after() is not None)
        gave_up = self.status in (408, 499) or (self.status >= 500 and not certain)
        if self.effects and gave_up:
            return Undecided(text, self.details())
        if self.asks_again():
            return RetryAfter(self.after_ms(), text)
        kinds = {404: NotFound, 410: NotFound, 409: Conflict, 412: Conflict}
        return kinds.get(self.status, Failed)(text, self.details())

    def server_message(self) -> str:
        """The server's message."""
        try:
            document = json.loads(self.body)
        except ValueError:
            return ""
        place = document.get("error") if isinstance(document, dict) else None
        for object in (place, document):
            values = [object.get(name) for name in MESSAGE_FIELDS] if isinstance(object, dict) else []
            for text in values:
                if isinstance(text, str):
                    return f": {' '.join(text.split())[:300]}"
        return ""


class Client:
    """A client for one call of the driver."""

    def __init__(self, server: str, call: Call, headers: dict[str, str] | None = None, attempts: int = 4):
        self.server, self.call, self.attempts = server.rstrip("/"), call, attempts
        self.headers = headers or {}

    def send(
        self, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None,
        keyed: bool = False,
    ) -> Answer:
        """Sends a request. `keyed` adds the call's idempotency key, so that it may be repeated. Raises
        `HttpError` if there is no answer."""
        url = self.server + path + (f"?{urlencode(query)}" if query else "")
        headers = {"accept": "application/json", **self.headers}
        content = b""
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body).encode()
        if keyed:
            headers["idempotency-key"] = self.call.idempotency_key
        repeatable = keyed or method in REPEATABLE
        for attempt in range(1, self.attempts + 1):
            # Later attempts wait 200 ms, 400 ms and so on, if the server does not say how long.
            wait = 0.1 * 2**attempt
            try:
                got = http.request(method, url, content, headers)
            except http.HttpError as error:
                again = error.kind == "unreachable" or (error.kind == "lost" and repeatable)
                if not again or attempt == self.attempts or not self.pause(wait):
                    raise
                continue
            target = f"{method} {urlsplit(url)._replace(query='').geturl()}"
            effects = method not in http.HARMLESS
            answer = Answer(got.status, got.headers, got.body, target, effects, repeatable)
            after = answer.retry_after()
            if (
                not answer.asks_again()
                or attempt == self.attempts
                or not self.pause(wait if after is None else after)
            ):
                return answer
        raise AssertionError("there is at least one attempt")

    def pause(self, seconds: float) -> bool:
        """Waits, if the call has the time for it and the operator has not cancelled it."""
        if seconds > LONGEST_WAIT or seconds * 1000 >= host.time_left() or host.cancelled():
            return False
        time.sleep(seconds)
        return True
