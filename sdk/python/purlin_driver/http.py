"""Requests over HTTP and HTTPS, within the `http` grants, and the meaning of a missing answer.

In a component, `request` and the HTTP clients of Python (`clients.py`) all send through `exchange`.
This module needs no WebAssembly: natively, requests go out through `http.client`."""

import http.client
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .failures import Denied, Failed, Failure, RetryAfter, Undecided

#: Methods that change nothing, however often they are sent.
HARMLESS = {"GET", "HEAD", "OPTIONS"}
#: Methods whose requests have a body, so that its length is sent even if it is empty.
TELL_LENGTH = {"POST", "PUT", "PATCH"}
#: Milliseconds to wait for a server that cannot be reached.
PATIENCE = 1000
#: The maximum number of bytes of an answer's body; a driver may change it.
LARGEST = 4 << 20


class HttpError(OSError):
    """There is no answer. `kind` says why:

    - `denied`: the operator has not granted it. Nothing was sent.
    - `unusable`: the URL or a header is wrong. Nothing was sent.
    - `unreachable`: no server accepts the connection at present. Nothing was sent.
    - `untrusted`: the server's name is unknown, or its certificate is not valid. Nothing was sent.
    - `lost`: the request was sent, and no complete answer came.
    - `too-large`: the answer is larger than `LARGEST`. The request was carried out.
    """

    def __init__(self, kind: str, request: "Request", message: str):
        super().__init__(f"{request.target}: {message}")
        self.kind, self.target, self.message, self.harmless = kind, request.target, message, request.harmless

    @property
    def carried_out(self) -> bool:
        """Whether the request may have been carried out."""
        return self.kind in ("lost", "too-large")

    @property
    def undecided(self) -> bool:
        """Whether the request may have changed something."""
        return self.carried_out and not self.harmless

    def failure(self, changes: bool) -> Failure:
        """Its failure, in a function that `changes` something or in another."""
        if self.kind == "denied":
            return Denied("http", self.target, self.message)
        if self.kind == "unreachable" or (self.kind == "lost" and self.harmless):
            return RetryAfter(PATIENCE, str(self))
        if self.undecided and changes:
            return Undecided(f"{self}; it is unknown whether it was carried out")
        return Failed(str(self))


@dataclass
class Request:
    method: str
    url: str
    fields: list[tuple[str, str]]
    body: bytes = b""
    #: Seconds for the connection, the first byte and each further one.
    timeout: float | None = None

    @property
    def target(self) -> str:
        """Method and URL as people may see them: a query may contain secrets."""
        url = urlsplit(self.url)
        return f"{self.method} {url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"

    @property
    def harmless(self) -> bool:
        return self.method in HARMLESS

    def sendable(self) -> list[tuple[str, str]]:
        """The headers without those that only the connection needs."""
        url = urlsplit(self.url)
        if url.scheme not in ("http", "https") or not url.netloc:
            raise HttpError("unusable", self, "the URL has to begin with `http://` or `https://` and a host")
        if "@" in url.netloc:
            raise HttpError("unusable", self, "credentials belong in a header, not in the URL")
        fields = []
        for name, value in self.fields:
            match name.lower():
                case "connection" | "content-length" | "keep-alive" | "te" | "transfer-encoding":
                    pass
                case "host":
                    if urlsplit(f"{url.scheme}://{value}").hostname != url.hostname:
                        raise HttpError("unusable", self, f"the header `host: {value}` differs from the URL")
                case _:
                    fields.append((name, value))
        if self.body or self.method in TELL_LENGTH:
            fields.append(("content-length", str(len(self.body))))
        return fields


@dataclass
class Answer:
    status: int
    fields: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @property
    def headers(self) -> dict[str, str]:
        """The headers by their names in lower case."""
        joined: dict[str, str] = {}
        for name, value in self.fields:
            name = name.lower()
            joined[name] = f"{joined[name]}, {value}" if name in joined else value
        return joined

    @property
    def refused(self) -> bool:
        """Whether the server says that it changed nothing. A server that gave up in the middle of
        its work does not say so."""
        patience = self.status == 503 and "retry-after" in self.headers
        return patience or (400 <= self.status < 500 and self.status != 408)


class Effects:
    """The requests of this call that may have changed something."""

    def __init__(self) -> None:
        self.targets: list[str] = []


effects = Effects()


def request(
    method: str, url: str, body: bytes = b"", headers: dict[str, str] | None = None,
    timeout: float | None = None,
) -> Answer:
    """Sends a request and waits for the answer, whatever its status. Raises `HttpError`."""
    return exchange(Request(method, url, list((headers or {}).items()), body, timeout))


def exchange(request: Request) -> Answer:
    """Sends a request, and records whether it may have changed something."""
    request.method = request.method.upper()
    if request.harmless:
        return transport(request)
    # Recorded first: whatever ends this call later, the request may have been sent.
    effects.targets.append(request.target)
    try:
        answer = transport(request)
    except HttpError as error:
        if not error.carried_out:
            effects.targets.pop()
        raise
    if answer.refused:
        effects.targets.pop()
    return answer


def native(request: Request) -> Answer:
    """The transport of tests, which run without WebAssembly."""
    url, fields = urlsplit(request.url), request.sendable()
    secure = url.scheme == "https"
    connection = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    server = connection(url.netloc, timeout=request.timeout)
    try:
        server.connect()
    except socket.gaierror:
        raise HttpError("untrusted", request, "the host's name is unknown") from None
    except ConnectionRefusedError as error:
        raise HttpError("unreachable", request, str(error)) from None
    except OSError as error:
        # An error about a certificate is a `ValueError`, too.
        kind = "untrusted" if isinstance(error, ValueError) else "unreachable"
        raise HttpError(kind, request, str(error)) from None
    try:
        server.putrequest(request.method, (url.path or "/") + (f"?{url.query}" if url.query else ""))
        for name, value in fields:
            server.putheader(name, value)
        server.endheaders(request.body or None)
        answer = server.getresponse()
        body = answer.read(LARGEST + 1)
        if len(body) <= LARGEST and answer.length:
            raise http.client.IncompleteRead(body, answer.length)
    except (OSError, http.client.HTTPException) as error:
        raise HttpError("lost", request, str(error) or type(error).__name__) from None
    finally:
        server.close()
    if len(body) > LARGEST:
        raise too_large(request)
    return Answer(answer.status, answer.getheaders(), body)


def too_large(request: Request) -> HttpError:
    return HttpError("too-large", request, f"the answer has more than {LARGEST} bytes")


#: The transport of requests: `component.py` sets WASI here, and a test may set any other.
transport = native
