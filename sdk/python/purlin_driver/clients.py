"""The HTTP clients of Python send through `http.exchange`: `http.client` and `urllib.request`, and
the packages `urllib3`, `requests` and `httpx`. Here, sockets have neither TLS nor a host that says
why there is no answer; and only the sender of a request knows the meaning of a lost answer."""

import io
import socket
import sys

from .http import Answer, HttpError, Request, exchange


class Wire:
    """The socket of a client: it collects a request and provides the answer."""

    def __init__(self, scheme: str, host: str, port: int, timeout=None):
        host = f"[{host}]" if ":" in host else host
        usual = port == {"http": 80, "https": 443}[scheme]
        self.server = f"{scheme}://{host}" if usual else f"{scheme}://{host}:{port}"
        self.sent = bytearray()
        self.settimeout(timeout)

    def sendall(self, data) -> None:
        self.sent += data

    def makefile(self, mode: str = "rb", *_, **__) -> "Reply":
        return Reply(self.request())

    def request(self) -> Request:
        head, _, body = bytes(self.sent).partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = line.split(" ", 2)
        fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        if any(name.lower() == "transfer-encoding" for name, _ in fields):
            body = b"".join(pieces(body))
        return Request(method, self.server + path, fields, body, self.timeout)

    def settimeout(self, timeout) -> None:
        # Clients use a special object for "not given".
        self.timeout = timeout if isinstance(timeout, (int, float)) else None

    def setsockopt(self, *_) -> None:
        """There is no socket with options."""

    def close(self) -> None:
        """There is nothing to close."""


class Reply(io.BytesIO):
    """The client's reader: the request is sent when the client reads the status line, because only then
    it is ready for an exception."""

    def __init__(self, request: Request):
        super().__init__()
        self.waiting: Request | None = request

    def readline(self, size: int | None = -1) -> bytes:
        if self.waiting:
            request, self.waiting = self.waiting, None
            self.write(raw(request.method, exchange(request)))
            self.seek(0)
        return super().readline(size)


def pieces(body: bytes):
    """The pieces of a body in chunked encoding."""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size.partition(b";")[0], 16)
        if length == 0:
            return
        yield rest[:length]
        body = rest[length + 2 :]


def raw(method: str, answer: Answer) -> bytes:
    """An answer as it comes over a connection for just this one."""
    own = ("connection", "content-length", "keep-alive", "transfer-encoding")
    kept = [(name, value) for name, value in answer.fields if name.lower() not in own]
    length = answer.headers.get("content-length") if method == "HEAD" else str(len(answer.body))
    if length is not None and answer.status not in (204, 304):
        kept.append(("content-length", length))
    kept.append(("connection", "close"))
    head = [f"HTTP/1.1 {answer.status} ", *(f"{name}: {value}" for name, value in kept), "", ""]
    return "\r\n".join(head).encode("latin-1", "replace") + answer.body


def unusable(url: str, message: str) -> HttpError:
    return HttpError("unusable", Request("CONNECT", url, []), message)


def http_client(module) -> None:
    class HTTPSConnection(module.HTTPConnection):
        default_port = 443
        scheme = "https"

        def __init__(self, host, port=None, *, timeout=socket._GLOBAL_DEFAULT_TIMEOUT,
                     source_address=None, context=None, blocksize=8192):
            super().__init__(host, port, timeout, source_address, blocksize)

    def connect(self):
        if self._tunnel_host:
            raise unusable(f"http://{self.host}", "requests cannot go through a proxy")
        self.sock = Wire(self.scheme, self.host, self.port, self.timeout)

    module.HTTPConnection.scheme = "http"
    module.HTTPConnection.connect = connect
    module.HTTPSConnection = HTTPSConnection


def urllib_request(module) -> None:
    class HTTPSHandler(module.AbstractHTTPHandler):
        def __init__(self, debuglevel=None, context=None, check_hostname=None):
            super().__init__()

        def https_open(self, request):
            return self.do_open(module.http.client.HTTPSConnection, request)

        https_request = module.AbstractHTTPHandler.do_request_

    module.HTTPSHandler = HTTPSHandler


def urllib3(module) -> None:
    from urllib3 import connection, connectionpool

    tls = {"key_password", "ssl_context", "server_hostname", "ssl_minimum_version",
           "ssl_maximum_version", "ssl_version", "assert_hostname", "assert_fingerprint", "cert_reqs",
           "ca_certs", "ca_cert_dir", "ca_cert_data"}

    class HTTPSConnection(connection.HTTPConnection):
        default_port = 443
        scheme = "https"
        is_verified = True

        def __init__(self, host, port=None, *, cert_file=None, key_file=None, **settings):
            if cert_file or key_file:
                raise unusable(f"https://{host}", "client certificates cannot be sent")
            super().__init__(host, port, **{name: settings[name] for name in settings.keys() - tls})

    def connect(self):
        if self.proxy:
            raise unusable(f"http://{self.host}", "requests cannot go through a proxy")
        return Wire(self.scheme, self.host, self.port, self.timeout)

    connection.HTTPConnection.scheme = "http"
    connection.HTTPConnection._new_conn = connect
    connectionpool.HTTPSConnectionPool.ConnectionCls = HTTPSConnection


def requests(module) -> None:
    # The host has the certificate authorities; there is no file of them here.
    def cert_verify(self, conn, url, verify, cert):
        if cert:
            raise unusable(url, "client certificates cannot be sent")

    module.adapters.HTTPAdapter.cert_verify = cert_verify


def httpx(module) -> None:
    errors = {"unusable": module.LocalProtocolError, "lost": module.ReadError, "too-large": module.ReadError}

    def __init__(self, *_, cert=None, proxy=None, **__):
        if cert or proxy:
            raise ValueError("requests can neither go through a proxy nor send client certificates")

    def handle_request(self, request):
        timeout = request.extensions.get("timeout", {}).get("read")
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        try:
            answer = exchange(Request(request.method, str(request.url), fields, request.read(), timeout))
        except HttpError as error:
            raise errors.get(error.kind, module.ConnectError)(str(error), request=request) from error
        return module.Response(answer.status, headers=answer.fields, content=answer.body)

    def refuse(self, *_, **__):
        raise NotImplementedError("a driver has no event loop; use httpx.Client instead of AsyncClient")

    for name in ("close", "__enter__", "__exit__"):
        setattr(module.HTTPTransport, name, getattr(module.BaseTransport, name))
    module.HTTPTransport.__init__ = __init__
    module.HTTPTransport.handle_request = handle_request
    module.AsyncHTTPTransport.__init__ = refuse


CLIENTS = {
    "http.client": http_client,
    "urllib.request": urllib_request,
    "urllib3": urllib3,
    "requests": requests,
    "httpx": httpx,
}


def connect() -> None:
    """Connects the imported clients; others cannot be imported later."""
    for name, change in CLIENTS.items():
        if name in sys.modules:
            change(sys.modules[name])
