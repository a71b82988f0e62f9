"""What a broker does with bytes that are no request of anybody: it hangs up, and serves the others on."""

from __future__ import annotations

import struct

from compat_tests.raw_requests import ConnectionClosed, framed
from compat_tests.scenarios.building import built
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.metadata import MetadataRequest

AREA = Area("limits")
HEADER = struct.Struct(">hhih")
METADATA, FETCH, NO_API = 3, 1, 999


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def headed(key: int, version: int, body: bytes = b"") -> bytes:
    return frame(HEADER.pack(key, version, 7, 3) + b"raw" + body)


BYTES = {
    "a size that is negative": struct.pack(">i", -1),
    "a size beyond all bounds": struct.pack(">i", 2**31 - 1) + b"x" * 100,
    "a size above the limit": struct.pack(">i", 104_857_601) + b"x" * 100,
    "an empty frame": struct.pack(">i", 0),
    "half a header": frame(b"\0\3\0"),
    "an unknown api": headed(NO_API, 0),
    "a negative api": headed(-1, 0),
    "a version before the first": headed(FETCH, 3, bytes(40)),
    "a version behind the last": headed(METADATA, 99, bytes(10)),
    "a negative version": headed(METADATA, -1, bytes(10)),
    "no body": headed(METADATA, 1),
    "an array longer than the frame": headed(METADATA, 1, struct.pack(">i", 1_000_000)),
    "an array of negative length": headed(METADATA, 1, struct.pack(">i", -2)),
    "a string longer than the frame": headed(METADATA, 1, struct.pack(">ih", 1, 3000)),
    "a null that may not be": headed(METADATA, 1, struct.pack(">ih", 1, -1)),
    "garbage": b"\0\0\0\x10" + b"\xff" * 16,
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": bytes.fromhex("16030100f8010000f40303") + bytes(240),
    "an api of controllers": headed(52, 0, bytes(30)),
    "a client id that is no text": frame(HEADER.pack(METADATA, 1, 7, 2) + b"\xff\xfe" + b"\0\0\0\0"),
    "a client id longer than the frame": frame(HEADER.pack(METADATA, 1, 7, 3000) + b"raw"),
}


@AREA.cases(BYTES)
def bytes_that_are_no_request(stage: Stage, data: bytes) -> None:
    connection = stage.connection()
    connection.send_bytes(data)
    try:
        answered: object = len(connection.receive_frame()) > 0
    except ConnectionClosed:
        answered = "the connection is closed"
    stage.note("answered", answered)
    stage.ask(MetadataRequest, 1, {"topics": []})


@AREA.one
def bytes_behind_a_request(stage: Stage) -> None:
    """They are ignored: a later version may mean something by them."""
    connection = stage.connection()
    whole = framed(built(MetadataRequest, 1, {"topics": []}), 1, 7, "raw")[4:]
    connection.send_bytes(frame(whole + b"more"))
    stage.note("answered", len(connection.receive_frame()) > 0)


@AREA.one
def requests_that_come_in_pieces(stage: Stage) -> None:
    connection = stage.connection()
    for one in framed(ApiVersionsRequest(), 0, 9, "raw"):
        connection.send_bytes(bytes([one]))
    stage.note("answered", struct.unpack(">i", connection.receive_frame()[:4])[0])


@AREA.one
def answers_come_in_the_order_of_requests(stage: Stage) -> None:
    connection = stage.connection()
    asked = [framed(built(MetadataRequest, 1, {"topics": []}), 1, number, "raw") for number in range(20)]
    connection.send_bytes(b"".join(asked))
    stage.note("order", [struct.unpack(">i", connection.receive_frame()[:4])[0] for _ in asked])


@AREA.cases({"none": None, "an empty one": "", "a long one": "c" * 3000})
def client_ids(stage: Stage, client_id: str | None) -> None:
    connection = stage.connection()
    connection.send_bytes(framed(built(MetadataRequest, 9, {"topics": []}), 9, 3, client_id))
    stage.note("answered", struct.unpack(">i", connection.receive_frame()[:4])[0])


@AREA.one
def unknown_tags_are_ignored(stage: Stage) -> None:
    request = built(MetadataRequest, 12, {"topics": []})
    request.unknown_tags = ((7, b"what"), (5000, b""))
    connection = stage.connection()
    connection.send_bytes(framed(request, 12, 3, "raw"))
    stage.note("answered", struct.unpack(">i", connection.receive_frame()[:4])[0])
