"""DeleteRecords (KIP-107): a log begins later from now on. Files go with the next retention run.

Offset -1 stands for the high watermark; nothing beyond it can be deleted. The answer is the low watermark, below which
no replica has records: with one replica that is where its log begins. Internal topics and those that are only
compacted refuse. A partition that is named more than once gets the last of its offsets, as in Kafka. With an error the
low watermark is -1. Versions: 2 is flexible.
"""

from __future__ import annotations

from ottla.server.context import Context
from ottla.server.handlers.listener_view import INTERNAL_TOPICS
from ottla.server.routes import Route, versions
from ottla.storage import log_trimming
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import DeleteRecordsRequest, DeleteRecordsResponse

HIGH_WATERMARK = -1
NO_OFFSET = -1

Outcome = DeleteRecordsResponse.DeleteRecordsPartitionResult


def delete_records(context: Context, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    # Each partition is cut once, whatever the request repeats: a cut is written to the disk.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.name, {}).update((asked.partition_index, asked.offset) for asked in topic.partitions)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=name, partitions=[_delete(context, name, index, offset) for index, offset in offsets.items()]
            )
            for name, offsets in wanted.items()
        ]
    )


def _delete(context: Context, topic: str, index: int, offset: int) -> Outcome:
    try:
        if topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the brokers' own")
        log = context.broker.partition(topic, index).log
        if not log.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{topic} does not have cleanup.policy=delete")
        log_trimming.delete_records(log, log.high_watermark if offset == HIGH_WATERMARK else offset)
    except KafkaError as error:
        return Outcome(partition_index=index, low_watermark=NO_OFFSET, error_code=error.code)
    return Outcome(partition_index=index, low_watermark=log.start_offset)


def refused(request: DeleteRecordsRequest, error: KafkaError) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    Outcome(partition_index=asked.partition_index, low_watermark=NO_OFFSET, error_code=error.code)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


ROUTES = (Route(DeleteRecordsRequest, versions(0, 2), delete_records, refused),)
