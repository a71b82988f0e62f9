"""Produce: batches from clients into the logs of the partitions led here.

Every partition is answered for itself: one that fails does not touch the others. Batches are staged while a pass runs
and written when it ends, one write per log; the answer is made after that. acks=0 gets no answer, and a connection that
hit an error is closed, which is the only way to tell such a client. acks=all waits for all replicas in sync, as long as
the request says; `flush.messages=1` makes every acknowledgement wait for the disk.

Versions: 3 to 13 are served; 0 to 2 are advertised all the same, since librdkafka before 2.11 stops compressing
otherwise (KAFKA-18659). 7 is the first that may carry zstd, 8 reports single records (KIP-467), 10 says who leads
where this broker does not (KIP-951), 13 has topic ids. Not here yet: transactions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import trio

from ottla.server.context import Context
from ottla.server.dispatch import CloseConnection
from ottla.server.handlers.current_leader import current_leader
from ottla.server.handlers.listener_view import INTERNAL_TOPICS
from ottla.server.handlers.produce_parts import (
    ATTRIBUTES_LOW_BYTE,
    FIRST_VERSION_WITH_IDS,
    TRANSACTIONAL_FLAG,
    answer,
)
from ottla.server.handlers.quick_produce import quick_produce
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.server.routes import Route, versions
from ottla.storage.appended import Appended
from ottla.storage.record_check import NotOneBatch
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.records import Codec
from ottla.wire.records.batch import MAGIC, MAGIC_POSITION

ACKS = (-1, 0, 1)
ALL = -1
FIRST_VERSION_WITH_ZSTD = 7
FIRST_VERSION_WITH_LEADER = 10
CODEC_MASK = 0x07
# Kafka's own admin tools may write to internal topics, and say so by their client id.
ADMIN_CLIENT_ID = "__admin_client"

Placed = tuple[Partition | None, Appended | KafkaError, int]


class Produce:
    """One request between being staged and being answered."""

    __slots__ = ("context", "pending", "placed", "request", "waiting_count")

    def __init__(self, context: Context, request: ProduceRequest, placed: list[list[Placed]]) -> None:
        self.context = context
        self.request = request
        self.placed = placed
        self.pending = Pending(stops_line=False, expire=self.response)
        self.waiting_count = 0

    def written(self) -> None:
        """The pass has ended and the logs are written: answer, unless the disk or other replicas must be waited for."""
        waits = self.request.acks != 0
        waits_for_all = False
        self.waiting_count = 1  # for this look at all of them
        for partitions in self.placed:
            for number, (partition, outcome, index) in enumerate(partitions):
                if partition is None or type(outcome) is not Appended:
                    continue
                # The next pass may see another error, or none: what became of this batch is to be noted now.
                if partition.commit_error is not None:
                    partitions[number] = (partition, partition.commit_error, index)
                elif partition.in_sync is not None and self.request.acks == ALL:
                    waits_for_all = True
                    self.wait(partition, outcome, partition.when_committed, partitions, number)
                elif waits and partition.must_flush_first:
                    self.wait(partition, outcome, partition.when_flushed, partitions, number)
        self.waiting_count -= 1
        if not waits:
            self.close_if_failed()
            self.pending.complete(None)
        elif not self.waiting_count:
            self.pending.complete(self.response())
        elif waits_for_all:
            deadline = trio.current_time() + max(self.request.timeout_ms, 0) / 1000
            self.context.broker.deadlines.add(deadline, self.pending)

    def wait(
        self,
        partition: Partition,
        outcome: Appended,
        when: Callable[[int, Callable[[KafkaError | None], None]], None],
        partitions: list[Placed],
        number: int,
    ) -> None:
        """One of the batches is not safe yet: until it is, what is noted of it is that time is up."""
        self.waiting_count += 1
        late = KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{partition}: not every replica in sync has it yet")
        partitions[number] = (partition, late, partitions[number][2])
        when(outcome.last_offset + 1, partial(self.safe, partitions, number, outcome))

    def safe(self, partitions: list[Placed], number: int, outcome: Appended, error: KafkaError | None) -> None:
        """One of the batches is where it must be, or cannot be."""
        partition, _, index = partitions[number]
        partitions[number] = (partition, outcome if error is None else error, index)
        self.waiting_count -= 1
        if not self.waiting_count:
            self.pending.complete(self.response())

    def close_if_failed(self) -> None:
        errors = [
            outcome for partitions in self.placed for _, outcome, _ in partitions if type(outcome) is not Appended
        ]
        if errors:
            self.context.connection.cut_off(f"a Produce with acks=0 failed, and no answer could say so: {errors[0]}")

    def response(self) -> ProduceResponse:
        topics = [
            ProduceResponse.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[answer(*placed) for placed in partitions],
            )
            for topic, partitions in zip(self.request.topic_data, self.placed, strict=True)
        ]
        response = ProduceResponse(responses=topics)
        if self.context.version >= FIRST_VERSION_WITH_LEADER:
            self.name_leaders(response)
        return response

    def name_leaders(self, response: ProduceResponse) -> None:
        """Who asks the wrong broker is told whom to ask (KIP-951)."""
        for topic in response.responses:
            for one in topic.partition_responses:
                if one.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    continue
                found = current_leader(self.context, topic.name, topic.topic_id, one.index)
                if found is None:
                    continue
                one.current_leader = ProduceResponse.LeaderIdAndEpoch(
                    leader_id=found.leader_id, leader_epoch=found.leader_epoch
                )
                known = {endpoint.node_id for endpoint in response.node_endpoints}
                if found.broker is not None and found.leader_id not in known:
                    host, port = found.address(self.context.listener_name)
                    endpoint = ProduceResponse.NodeEndpoint(
                        node_id=found.leader_id, host=host, port=port, rack=found.broker.rack
                    )
                    response.node_endpoints = [*response.node_endpoints, endpoint]


def produce(context: Context, request: ProduceRequest) -> Pending:
    if request.acks not in ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={request.acks}")
    _check_transactional_id(request)
    placed = [
        [_place(context, topic, part, request.acks) for part in topic.partition_data] for topic in request.topic_data
    ]
    ours = Produce(context, request, placed)
    context.broker.after_pass(ours.written)
    return ours.pending


def _check_transactional_id(request: ProduceRequest) -> None:
    """Who writes in a transaction says in which; without a name nobody is allowed to, and all of it is refused."""
    if request.transactional_id is not None:
        return
    for topic in request.topic_data:
        for part in topic.partition_data:
            if _is_transactional(part.records):
                reason = "batches of a transaction without a transactional id"
                raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, reason)


def _is_transactional(records: memoryview | None) -> bool:
    if records is None or len(records) <= ATTRIBUTES_LOW_BYTE or records[MAGIC_POSITION] != MAGIC:
        return False
    return bool(records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG)


def _place(
    context: Context, topic: ProduceRequest.TopicProduceData, part: ProduceRequest.PartitionProduceData, acks: int
) -> Placed:
    """Stage one batch; what went wrong is kept for the answer."""
    broker = context.broker
    try:
        if context.version >= FIRST_VERSION_WITH_IDS:
            partition = broker.partition_by_id(topic.topic_id, part.index)
        else:
            partition = broker.partition(topic.name, part.index)
    except KafkaError as error:
        return None, error.kept(), part.index
    # The request lives until it is answered, which may take a sync; what came with it must not.
    records, part.records = part.records, None
    try:
        if records is None or len(records) <= ATTRIBUTES_LOW_BYTE:
            raise KafkaError(ErrorCode.INVALID_RECORD, "no records")
        attributes = records[ATTRIBUTES_LOW_BYTE]
        if context.version < FIRST_VERSION_WITH_ZSTD and attributes & CODEC_MASK == Codec.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs version 7 or later")
        if attributes & TRANSACTIONAL_FLAG:
            # Nobody would ever end it, and readers of what is committed would stop here for good (KIP-890).
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"{partition} is not in any transaction")
        if partition.topic in INTERNAL_TOPICS and context.client_id != ADMIN_CLIENT_ID:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.topic} is written by brokers alone")
    except KafkaError as error:
        return None, error.kept(), part.index
    try:
        if acks == ALL and partition.in_sync is not None:
            broker.in_sync.check_enough(partition)
        appended = partition.stage(records, context.now_ms)
    except NotOneBatch as error:
        return None, error.kept(), part.index
    except KafkaError as error:
        return partition, error.kept(), part.index
    broker.staged(partition)
    return partition, appended, part.index


def refused(request: ProduceRequest, error: KafkaError) -> ProduceResponse | None:
    """The whole request failed: every partition gets the error."""
    if request.acks == 0:
        raise CloseConnection(error.message)
    topics = [
        ProduceResponse.TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[answer(None, error, part.index) for part in topic.partition_data],
        )
        for topic in request.topic_data
    ]
    return ProduceResponse(responses=topics)


ROUTES = (Route(ProduceRequest, versions(3, 13), produce, refused, advertised=versions(0, 13), quick=quick_produce),)
