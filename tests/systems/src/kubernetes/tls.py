"""HTTPS before a server that speaks HTTP: PORT CERTIFICATE KEY SERVER."""

import socket
import ssl
import sys
import threading


def carry(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(context, plain, server):
    try:
        client = context.wrap_socket(plain, server_side=True)
        behind = socket.create_connection(("127.0.0.1", server))
    except OSError:
        plain.close()
        return
    threading.Thread(target=carry, args=(behind, client), daemon=True).start()
    carry(client, behind)


port, certificate, key, server = sys.argv[1:]
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain(certificate, key)
listener = socket.create_server(("127.0.0.1", int(port)))
while True:
    accepted, _ = listener.accept()
    threading.Thread(target=serve, args=(tls, accepted, int(server)), daemon=True).start()
