"""Single Kafka requests over a blocking socket, for what client libraries keep to themselves.

Fetch as it comes off the wire, with its list of aborted transactions, and the end offset of a leader epoch. One request
at a time, no retries, no metadata: the one broker leads everything.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import struct
from types import TracebackType
from typing import NamedTuple, TypeVar

from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from ottla.wire.messages.offsets_lookup import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from ottla.wire.schema import Request, Response

SECONDS_MAX = 60
# The last version that names topics; later ones want ids.
FETCH_VERSION = 12
EPOCH_VERSION = 4

Answer = TypeVar("Answer", bound=Response)


def framed(request: Request, version: int, number: int, client_id: str | None) -> bytes:
    """A request as it goes over the wire, its length in front."""
    header = RequestHeader(
        request_api_key=request.api_key, request_api_version=version, correlation_id=number, client_id=client_id
    )
    data = header.encode(request_header_version(type(request), version)) + request.encode(version)
    return struct.pack(">i", len(data)) + data


class Fetched(NamedTuple):
    """What a broker sent from an offset on; aborted transactions are (producer id, first offset)."""

    data: bytes
    aborted: tuple[tuple[int, int], ...]
    high_watermark: int
    last_stable_offset: int
    start_offset: int


class ConnectionClosed(AssertionError):
    """The broker closed the connection instead of an answer."""


class RawConnection:
    def __init__(self, host: str, port: int, client_id: str | None = "raw") -> None:
        self._socket = socket.create_connection((host, port), timeout=SECONDS_MAX)
        self._client_id = client_id
        self._numbers = itertools.count(1)
        self._last_number = 0

    def __enter__(self) -> RawConnection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def send(self, request: Request, answer: type[Answer], version: int) -> Answer:
        self.begin(request, version)
        return self.finish(answer, version)

    def begin(self, request: Request, version: int) -> None:
        """Ask, and leave the answer for `finish`: it may depend on what others ask."""
        number = self._last_number = next(self._numbers)
        self.send_bytes(framed(request, version, number, self._client_id))

    def send_bytes(self, data: bytes) -> None:
        """Whatever they are: a frame, half of one, or none. Whether the broker has hung up is seen when it is read."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)

    def finish(self, answer: type[Answer], version: int) -> Answer:
        """The answer to the last request."""
        number = self._last_number
        frame = self.receive_frame()
        found, start = ResponseHeader.read(frame, response_header_version(answer, version))
        assert found.correlation_id == number, found
        return answer.decode(frame, version, start)

    def receive_frame(self) -> bytes:
        """The next answer as it came, without its length. ConnectionClosed if there is none."""
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)

    def _receive(self, size_bytes: int) -> bytes:
        pieces = []
        while size_bytes:
            try:
                piece = self._socket.recv(size_bytes)
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise ConnectionClosed("the broker closed the connection")
            pieces.append(piece)
            size_bytes -= len(piece)
        return b"".join(pieces)

    def fetch(self, topic: str, offset: int, *, bytes_max: int, is_committed: bool) -> Fetched:
        """What partition 0 has from an offset on, now."""
        partition = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=bytes_max)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            isolation_level=int(is_committed),
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
        )
        response = self.send(request, FetchResponse, FETCH_VERSION)
        assert response.error_code == 0, response
        ((found,),) = (one.partitions for one in response.responses)
        assert found.error_code == 0, (topic, offset, found.error_code)
        aborted = tuple((one.producer_id, one.first_offset) for one in found.aborted_transactions or ())
        return Fetched(
            bytes(found.records or b""),
            aborted,
            found.high_watermark,
            found.last_stable_offset,
            found.log_start_offset,
        )

    def epoch_end(self, topic: str, epoch: int) -> tuple[int, int]:
        """The largest epoch of partition 0 up to this one, and where it ended."""
        partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=epoch)
        topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[partition])]
        request = OffsetForLeaderEpochRequest(topics=topics)
        response = self.send(request, OffsetForLeaderEpochResponse, EPOCH_VERSION)
        ((found,),) = (one.partitions for one in response.topics)
        assert found.error_code == 0, (topic, epoch, found.error_code)
        return found.leader_epoch, found.end_offset
