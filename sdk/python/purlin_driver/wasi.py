"""The transport of components: requests over `wasi:http`. The host does TLS, and trusts the usual
authorities and those that the operator grants as `ca`."""

from contextlib import suppress
from urllib.parse import urlsplit

from componentize_py_types import Err
from wit_world.imports import outgoing_handler, wasi_http_types as wasi
from wit_world.imports.streams import StreamError_Closed

from . import http
from .http import Answer, HttpError, Request

#: Bytes that are read, and written, at once.
READ, WRITE = 64 << 10, 4096

#: The meaning of the host's errors; all others mean that the answer was lost.
KINDS = {
    "HttpRequestDenied": ("denied", "the operator has not granted it"),
    "DestinationIpProhibited": (
        "denied", "the name leads to an address that is not public, and has to be granted too"
    ),
    "DnsError": ("untrusted", "the host's name is unknown"),
    "TlsCertificateError": (
        "untrusted", "the server's certificate is not trusted; grant `ca` if its authority is your own"
    ),
    "TlsProtocolError": ("untrusted", "the TLS handshake failed"),
    "TlsAlertReceived": ("untrusted", "the TLS handshake failed"),
    "ConnectionRefused": ("unreachable", "the connection was refused"),
    "ConnectionTimeout": ("unreachable", "the connection took too long"),
    "DnsTimeout": ("unreachable", "the server cannot be reached"),
    "DestinationNotFound": ("unreachable", "the server cannot be reached"),
    "DestinationUnavailable": ("unreachable", "the server cannot be reached"),
    "DestinationIpUnroutable": ("unreachable", "the server cannot be reached"),
    "ConnectionLimitReached": (
        "unusable", "this call has made as many requests as `limits.requests` allows"
    ),
    "HttpRequestUriInvalid": ("unusable", "the URL is not valid"),
    "HttpRequestUriTooLong": ("unusable", "the URL is too long"),
    "HttpRequestMethodInvalid": ("unusable", "the method is not valid"),
    "HttpRequestHeaderSectionSize": ("unusable", "the headers are too large"),
    "HttpRequestHeaderSize": ("unusable", "a header is too large"),
    "HttpResponseBodySize": ("too-large", "the answer is larger than the host allows"),
    "HttpResponseTimeout": ("lost", "the answer took too long"),
    "ConnectionReadTimeout": ("lost", "the answer took too long"),
    "ConnectionTerminated": ("lost", "the connection ended before the answer"),
    "HttpResponseIncomplete": ("lost", "the connection ended before the answer"),
    "HttpProtocolError": ("lost", "the connection ended before the answer"),
}


def send(request: Request) -> Answer:
    asked = outgoing(request)
    # Without a body there is no length to announce.
    sending = asked.body() if request.body else None
    try:
        coming = outgoing_handler.handle(asked, options(request.timeout))
        if sending:
            write(sending, request.body)
        with coming.subscribe() as answered:
            answered.block()
        answer = coming.get().value
        if isinstance(answer, Err):
            raise answer
        return read(request, answer.value)
    except Err as error:
        raise problem(request, error.value) from None


def outgoing(request: Request) -> wasi.OutgoingRequest:
    url = urlsplit(request.url)
    fields = [(name, value.encode("latin-1", "replace")) for name, value in request.sendable()]
    try:
        asked = wasi.OutgoingRequest(wasi.Fields.from_list(fields))
    except Err as error:
        raise HttpError("unusable", request, f"a header cannot be sent: {name_of(error.value)}") from None
    try:
        asked.set_method(wasi.Method_Other(request.method))
        asked.set_scheme(wasi.Scheme_Https() if url.scheme == "https" else wasi.Scheme_Http())
        asked.set_authority(url.netloc)
        asked.set_path_with_query((url.path or "/") + (f"?{url.query}" if url.query else ""))
    except Err:
        raise HttpError("unusable", request, "the method or the URL cannot be sent") from None
    return asked


def options(timeout: float | None) -> wasi.RequestOptions | None:
    if timeout is None:
        return None
    options, nanoseconds = wasi.RequestOptions(), int(timeout * 1e9)
    options.set_connect_timeout(nanoseconds)
    options.set_first_byte_timeout(nanoseconds)
    options.set_between_bytes_timeout(nanoseconds)
    return options


def write(sending: wasi.OutgoingBody, body: bytes) -> None:
    """Sends the body. A server that rejects it says why in the answer."""
    with suppress(Err):
        with sending.write() as stream:
            for at in range(0, len(body), WRITE):
                stream.blocking_write_and_flush(body[at : at + WRITE])
        wasi.OutgoingBody.finish(sending, None)


def read(request: Request, answer: wasi.IncomingResponse) -> Answer:
    with answer.headers() as fields:
        headers = [(name, value.decode("latin-1")) for name, value in fields.entries()]
    parts, size = [], 0
    with answer.consume() as body, body.stream() as stream:
        try:
            while size <= http.LARGEST:
                parts.append(stream.blocking_read(READ))
                size += len(parts[-1])
        except Err as end:
            if isinstance(end.value, StreamError_Closed):
                return Answer(answer.status(), headers, b"".join(parts))
            raise broken_off(request, end.value.value) from None
    raise http.too_large(request)


def broken_off(request: Request, error) -> HttpError:
    code = wasi.http_error_code(error)
    if code is not None and name_of(code) == "HttpResponseBodySize":
        return problem(request, code)
    return HttpError("lost", request, f"the answer broke off{f': {name_of(code)}' if code else ''}")


def problem(request: Request, code) -> HttpError:
    kind, message = KINDS.get(name_of(code), ("lost", name_of(code)))
    return HttpError(kind, request, message)


def name_of(code) -> str:
    """`ConnectionRefused` of `ErrorCode_ConnectionRefused`."""
    return type(code).__name__.rpartition("_")[2]
