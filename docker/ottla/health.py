"""Whether the broker of this container answers: status 0 if so. It is the image's health check.

It asks ApiVersions on the first listener for clients, wherever the settings have put that. A listener that speaks TLS
is asked for a connection only.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

from ottla.commands.serve import read_settings
from ottla.config.loading import load

SECONDS_MAX = 4
CORRELATION_ID = 1
API_VERSIONS, VERSION, NO_CLIENT_ID = 18, 0, -1


def main() -> int:
    config, _ = load(read_settings(None, sys.argv[1:], in_container=True), os.environ)
    listener = config.broker_listeners[0]
    host = "127.0.0.1" if listener.host in ("", "0.0.0.0") else listener.host
    is_plain = not config.security_protocols[listener.name].name.endswith("SSL")
    with socket.create_connection((host, listener.port), SECONDS_MAX) as connection:
        return 0 if not is_plain or answers(connection) else 1


def answers(connection: socket.socket) -> bool:
    request = struct.pack(">hhih", API_VERSIONS, VERSION, CORRELATION_ID, NO_CLIENT_ID)
    connection.sendall(struct.pack(">i", len(request)) + request)
    with connection.makefile("rb") as stream:
        start = stream.read(10)
    if len(start) < 10:
        return False
    _, correlation_id, error_code = struct.unpack(">iih", start)
    return bool(correlation_id == CORRELATION_ID and error_code == 0)


if __name__ == "__main__":
    sys.exit(main())
