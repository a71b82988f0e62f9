"""Produce: one record batch to one partition.

Batches are built elsewhere (`ottla.wire.records.BatchBuilder`), partitions chosen elsewhere (partitioning.py). A
batch that is sent again after a lost answer may be written twice, unless it carries a producer id and a sequence.
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check
from ottla.client.metadata import TopicPartition
from ottla.client.routing import Leader
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import ALL_VERSIONS, Versions

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1

# Version 13 names topics by id alone (KIP-516).
NAME_VERSIONS = Versions(0, 12)


class Produced(NamedTuple):
    """Where a batch was written; the time is -1 unless the topic stamps records on arrival."""

    base_offset: int
    log_append_time_ms: int
    log_start_offset: int


async def produce(
    cluster: Cluster,
    topic: str,
    partition: int,
    batch: bytes,
    *,
    acks: int = ACKS_ALL,
    transactional_id: str | None = None,
    timeout_ms: int | None = None,
) -> Produced | None:
    """Write a batch; None with acks=0, when nobody will ever know."""
    place = TopicPartition(topic, partition)

    async def attempt() -> Produced | None:
        # Built anew each time: the topic may have been made again under another id.
        topic_id = (await cluster.metadata([topic])).topic(topic).topic_id
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=cluster.settings.request_timeout_ms,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=topic,
                    topic_id=topic_id,
                    partition_data=[ProduceRequest.PartitionProduceData(index=partition, records=batch)],
                )
            ],
        )
        within = NAME_VERSIONS if topic_id == ZERO_UUID else ALL_VERSIONS
        response = await cluster.send(request, Leader(place), within=within)
        return None if response is None else _produced(response, place)

    return await cluster.retried(attempt, f"produce to {place}", timeout_ms=timeout_ms)


def _produced(response: ProduceResponse, place: TopicPartition) -> Produced:
    answers = [one for topic in response.responses for one in topic.partition_responses]
    if len(answers) != 1 or answers[0].index != place.partition:
        raise MalformedAnswer(f"Produce to {place} was answered for {[one.index for one in answers]}")
    (one,) = answers
    # Java's client takes this for success as well: the batch is in the log (KIP-98).
    if one.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        check(one.error_code, str(place), one.error_message)
    return Produced(one.base_offset, one.log_append_time_ms, one.log_start_offset)
