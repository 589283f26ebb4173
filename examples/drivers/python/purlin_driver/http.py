"""Requests over HTTP and HTTPS, as far as `http` is granted. wit/driver.wit has to import
`wasi:http/outgoing-handler` for it. (`urllib` works as well, without HTTPS and by `tcp` grants.)"""

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from componentize_py_types import Err
from wit_world.imports import outgoing_handler, wasi_http_types as wasi
from wit_world.imports.streams import StreamError_Closed

from .failures import Denied

#: Bytes that are read, and written, at once.
READ, WRITE = 64 << 10, 4096


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


def request(method: str, url: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
    """Sends a request and waits for the answer. Raises `Denied` where a grant is missing, and
    `OSError` where there is no answer."""
    target = urlsplit(url)
    fields = {**(headers or {}), **({"content-length": str(len(body))} if body else {})}
    asked = wasi.OutgoingRequest(
        wasi.Fields.from_list([(name, value.encode()) for name, value in fields.items()])
    )
    asked.set_method(wasi.Method_Other(method))
    asked.set_scheme(wasi.Scheme_Https() if target.scheme == "https" else wasi.Scheme_Http())
    asked.set_authority(target.netloc)
    asked.set_path_with_query((target.path or "/") + (f"?{target.query}" if target.query else ""))
    sending = asked.body()
    try:
        coming = outgoing_handler.handle(asked, None)
        send(sending, body)
        with coming.subscribe() as answered:
            answered.block()
        answer = coming.get().value
        if isinstance(answer, Err):
            raise answer
        return read(answer.value)
    except Err as error:
        raise problem(f"{method} {url}", error.value) from None


def send(sending, body: bytes) -> None:
    """Sends the body. Whoever refuses it tells why in the answer."""
    with suppress(Err):
        with sending.write() as stream:
            for at in range(0, len(body), WRITE):
                stream.blocking_write_and_flush(body[at : at + WRITE])
        wasi.OutgoingBody.finish(sending, None)


def read(answer) -> Answer:
    with answer.headers() as fields:
        headers = {name: value.decode(errors="replace") for name, value in fields.entries()}
    parts = []
    with answer.consume() as body, body.stream() as stream:
        try:
            while True:
                parts.append(stream.blocking_read(READ))
        except Err as end:
            if not isinstance(end.value, StreamError_Closed):
                raise
    return Answer(answer.status(), headers, b"".join(parts))


def problem(what: str, error) -> Exception:
    if isinstance(error, (wasi.ErrorCode_HttpRequestDenied, wasi.ErrorCode_DestinationIpProhibited)):
        return Denied("http", what, "the request was refused")
    return OSError(f"{what}: {type(error).__name__.removeprefix('ErrorCode_')}")
