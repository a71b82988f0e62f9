"""A client that costs next to nothing: requests built beforehand, a fixed number of them on their way.

One blocking socket. Every answer to the same request has the same size, so whole answers are counted by their bytes;
correlation ids are patched into the requests and checked in the answers, as is the error code of each. It knows
Produce of one batch to one partition, and nothing of metadata or retries.
"""

from __future__ import annotations

import socket
import struct
import time
from types import TracebackType

from ottla.wire.messages.headers import RequestHeader, request_header_version
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.records import BatchBuilder

VERSION = 13
SECONDS_MAX = 60
RECEIVE_BYTES = 1 << 20
# In a request: size, API key and version come first. In an answer: the size alone.
REQUEST_ID_POSITION = 8
ANSWER_ID_POSITION = 4
# Size, correlation id, tags, one topic, its id, one partition, its index: then comes the error code.
ERROR_POSITION = 4 + 4 + 1 + 1 + 16 + 1 + 4

_id = struct.Struct(">i")


def one_record_request(topic_id: bytes, value: bytes) -> bytes:
    """A whole frame: Produce of one record to partition 0, to be acknowledged by all replicas."""
    builder = BatchBuilder()
    builder.append(None, value, timestamp=int(time.time() * 1000))
    partition = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
    topic = ProduceRequest.TopicProduceData(topic_id=topic_id, partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=SECONDS_MAX * 1000, topic_data=[topic])
    header = RequestHeader(
        request_api_key=ProduceRequest.api_key, request_api_version=VERSION, correlation_id=0, client_id="raw"
    )
    data = header.encode(request_header_version(ProduceRequest, VERSION)) + request.encode(VERSION)
    return len(data).to_bytes(4, "big") + data


class BadAnswer(Exception):
    """What came is not an answer to what was sent, or is an error."""


class Pipeline:
    """A connection on which the same request is sent again and again."""

    def __init__(self, address: tuple[str, int], request: bytes, in_flight: int) -> None:
        self._socket = socket.create_connection(address, timeout=SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._in_flight = in_flight
        self._request_bytes = len(request)
        self._requests = bytearray(request * in_flight)
        self._received = bytearray()
        self._answer_bytes = 0
        self._sent_count = 0
        self._answered_count = 0

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def run(self, seconds: float) -> tuple[int, float]:
        """Keep requests on their way for so long; return how many were answered, and the seconds until the last."""
        started = time.perf_counter()
        deadline = started + seconds
        first_count = self._answered_count
        wanted = self._in_flight
        while wanted:
            self._send(wanted)
            wanted = 0
            while not wanted:
                wanted = self._receive()
            if time.perf_counter() >= deadline:
                wanted = 0
        while self._answered_count < self._sent_count:
            self._receive()
        return self._answered_count - first_count, time.perf_counter() - started

    def _send(self, count: int) -> None:
        for number in range(count):
            _id.pack_into(self._requests, number * self._request_bytes + REQUEST_ID_POSITION, self._sent_count + number)
        self._sent_count += count
        self._socket.sendall(memoryview(self._requests)[: count * self._request_bytes])

    def _receive(self) -> int:
        """Wait for answers, check those that are whole, and return how many there were."""
        piece = self._socket.recv(RECEIVE_BYTES)
        if not piece:
            raise BadAnswer("the broker closed the connection")
        self._received += piece
        if not self._answer_bytes:
            if len(self._received) < 4:
                return 0
            self._answer_bytes = 4 + int.from_bytes(self._received[:4], "big")
        count = len(self._received) // self._answer_bytes
        if count:
            end = count * self._answer_bytes
            self._check(self._received[:end], count)
            del self._received[:end]
        return count

    def _check(self, answers: bytearray, count: int) -> None:
        """A column of the answers at a time, so that checking costs less than answering."""
        size = self._answer_bytes
        low_bytes = bytes(number & 0xFF for number in range(self._answered_count, self._answered_count + count))
        if _id.unpack_from(answers, ANSWER_ID_POSITION)[0] != self._answered_count:
            raise BadAnswer(f"not the answer to {self._answered_count}: {bytes(answers[:size])!r}")
        if answers[ANSWER_ID_POSITION + 3 :: size] != low_bytes:
            raise BadAnswer("answers are out of order")
        for position in (ERROR_POSITION, ERROR_POSITION + 1):
            if answers[position::size].count(0) != count:
                raise BadAnswer(f"an error among the answers: {bytes(answers[:size])!r}")
        self._answered_count += count
