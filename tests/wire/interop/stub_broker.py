"""Just enough of a broker for one client with one topic of one partition: it keeps what is produced and serves a log.

It runs in threads of the test, on a port of the kernel's choosing, and stops with its block.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode
from ottla.wire.framing import Frame, FrameReader, frame
from ottla.wire.messages import request_type
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.schema import Request, Response

TOPIC = "topic"
NODE_ID = 1
FRAME_BYTES_MAX = 16 * 1024 * 1024
# How long a Fetch at the end of the log waits, so that the client does not ask without pause.
IDLE_FETCH_S = 0.05

# What is advertised. There are no groups here, but a broker without FindCoordinator knows no lz4, librdkafka thinks.
VERSIONS = {
    ApiKey.PRODUCE: (0, 9),
    ApiKey.FETCH: (4, 12),
    ApiKey.METADATA: (4, 9),
    ApiKey.FIND_COORDINATOR: (0, 2),
    ApiKey.API_VERSIONS: (0, 3),
}


class StubBroker:
    """The broker's state, shared by the threads of its connections."""

    def __init__(self, log: bytes, end_offset: int) -> None:
        self.log = log
        self.end_offset = end_offset
        self.produced: list[bytes] = []
        self.failures: list[Exception] = []
        self.port = 0
        self.stopping = threading.Event()

    def answer(self, received: Frame) -> bytes:
        key = ApiKey(int.from_bytes(received.data[received.start : received.start + 2], "big"))
        version = int.from_bytes(received.data[received.start + 2 : received.start + 4], "big")
        message = request_type(key)
        header_version = request_header_version(message, version)
        header, position = RequestHeader.read(received.data, header_version, received.start, received.end)
        response = self.respond(message.decode(received.data, version, position, received.end))
        answer_header = ResponseHeader(correlation_id=header.correlation_id)
        header_bytes = answer_header.encode(response_header_version(type(response), version))
        return b"".join(frame([header_bytes, response.encode(version)]))

    def respond(self, request: Request) -> Response:
        if isinstance(request, ApiVersionsRequest):
            listed = [
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in VERSIONS.items()
            ]
            return ApiVersionsResponse(api_keys=listed)
        if isinstance(request, MetadataRequest):
            return self.metadata()
        if isinstance(request, ProduceRequest):
            return self.produce(request)
        if isinstance(request, FindCoordinatorRequest):
            return FindCoordinatorResponse(
                error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, error_message=None, node_id=-1, host="", port=-1
            )
        assert isinstance(request, FetchRequest), request
        return self.fetch(request)

    def metadata(self) -> MetadataResponse:
        broker = MetadataResponse.MetadataResponseBroker(node_id=NODE_ID, host="127.0.0.1", port=self.port)
        partition = MetadataResponse.MetadataResponsePartition(
            partition_index=0, leader_id=NODE_ID, leader_epoch=0, replica_nodes=[NODE_ID], isr_nodes=[NODE_ID]
        )
        topic = MetadataResponse.MetadataResponseTopic(name=TOPIC, partitions=[partition])
        return MetadataResponse(brokers=[broker], controller_id=NODE_ID, topics=[topic])

    def produce(self, request: ProduceRequest) -> ProduceResponse:
        responses = []
        for topic in request.topic_data:
            for partition in topic.partition_data:
                assert partition.records is not None
                self.produced.append(bytes(partition.records))
                responses.append(ProduceResponse.PartitionProduceResponse(index=partition.index, base_offset=0))
        answered = ProduceResponse.TopicProduceResponse(name=TOPIC, partition_responses=responses)
        return ProduceResponse(responses=[answered])

    def fetch(self, request: FetchRequest) -> FetchResponse:
        responses = []
        for topic in request.topics:
            for wanted in topic.partitions:
                is_at_end = wanted.fetch_offset >= self.end_offset
                if is_at_end:
                    self.stopping.wait(IDLE_FETCH_S)
                partition = FetchResponse.PartitionData(
                    partition_index=wanted.partition,
                    error_code=ErrorCode.NONE,
                    high_watermark=self.end_offset,
                    last_stable_offset=self.end_offset,
                    log_start_offset=0,
                    aborted_transactions=None,
                    records=b"" if is_at_end else self.log,
                )
                responses.append(FetchResponse.FetchableTopicResponse(topic=topic.topic, partitions=[partition]))
        return FetchResponse(responses=responses)


@contextmanager
def serving(log: bytes = b"", end_offset: int = 0) -> Iterator[StubBroker]:
    """A broker whose partition holds this log, until the end of the block. Clients must be gone by then."""
    broker = StubBroker(log, end_offset)

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                self.serve()
            except ConnectionError:
                pass  # a client may leave without waiting for its answer
            except Exception as failure:
                broker.failures.append(failure)

        def serve(self) -> None:
            reader = FrameReader(FRAME_BYTES_MAX)
            while data := self.request.recv(65536):
                reader.receive_data(data)
                for received in reader.frames():
                    self.request.sendall(broker.answer(received))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Connection) as server:
        broker.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield broker
        finally:
            broker.stopping.set()
            server.shutdown()
            thread.join()
    assert broker.failures == []
