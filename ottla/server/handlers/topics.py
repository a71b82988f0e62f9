"""CreateTopics, DeleteTopics and CreatePartitions: what the controller makes of them, answered when it is committed.

Each topic stands for itself. Names, numbers, assignments and configs are checked by the controller, which alone makes
directory names of topic names (failure class 18). Not done: quotas (KIP-599).

CreateTopics versions: 5 tells partitions and configs of what was made (KIP-525), 7 its id. DeleteTopics versions: up
to 5 by name, from 6 on by name or id (KIP-516); 5 has messages. CreatePartitions versions: 2 is flexible, 3 may be
throttled.
"""

from __future__ import annotations

from ottla.server.context import Context
from ottla.server.handlers.changes import change
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.primitives import ZERO_UUID


def create_topics(context: Context, request: CreateTopicsRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def delete_topics(context: Context, request: DeleteTopicsRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def create_partitions(context: Context, request: CreatePartitionsRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def create_refused(request: CreateTopicsRequest, error: KafkaError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreateTopicsResponse.CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message
            )
            for topic in request.topics
        ]
    )


def delete_refused(request: DeleteTopicsRequest, error: KafkaError) -> DeleteTopicsResponse:
    asked = [(topic.name, topic.topic_id) for topic in request.topics]
    asked += [(name, ZERO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeleteTopicsResponse.DeletableTopicResult(
                name=name, topic_id=topic_id, error_code=error.code, error_message=error.message
            )
            for name, topic_id in asked
        ]
    )


def grow_refused(request: CreatePartitionsRequest, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=error.message
            )
            for topic in request.topics
        ]
    )


ROUTES = (
    Route(CreateTopicsRequest, versions(2, 7), create_topics, create_refused),
    Route(DeleteTopicsRequest, versions(1, 6), delete_topics, delete_refused),
    Route(CreatePartitionsRequest, versions(0, 3), create_partitions, grow_refused),
)
