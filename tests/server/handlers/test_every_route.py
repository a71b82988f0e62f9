"""What holds for every handler: no request breaks it, every version gets an answer, and hostile sizes stay cheap.

Failure class 13: a malformed request must not end anything. The requests are drawn by seed from the declarations, so
that every field meets its corners: nulls, empty arrays, names that are none, numbers at both ends.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from typing import Any

import pytest

from ottla.server.handlers import fetch, produce
from ottla.server.handlers.every_route import ROUTES
from ottla.server.routes import Route
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages import configs, log_dirs, metadata, offsets_lookup, topics, transaction_admin
from ottla.wire.messages.api_versions import ApiVersionsRequest
from tests.server.handler_world import CONTROLLER, PLAIN, World, encoded
from tests.wire.values import Shape, random_message, shapes

# Those two wait, and have tests of their own.
OURS = [route for route in ROUTES if route not in (*produce.ROUTES, *fetch.ROUTES)]
CASES = [
    pytest.param(route, version, id=f"{route.key.api_name}-v{version}")
    for route in OURS
    for version in range(route.versions.low, route.versions.high + 1)
]
DRAWS = 12
MANY = 2_000


def test_every_api_has_one_route() -> None:
    assert all(times == 1 for times in Counter(route.key for route in ROUTES).values())


def test_routes_serve_every_stable_version_that_kafka_has() -> None:
    for route in ROUTES:
        declared = route.request.versions
        last = declared.high - 1 if route.key is ApiKey.INIT_PRODUCER_ID else declared.high
        assert route.versions == (declared.low, last), route.key


@pytest.mark.parametrize(("route", "version"), CASES)
def test_failure_class_13_no_request_breaks_a_handler(world: World, route: Route, version: int) -> None:
    world.topic("topic-1", 2)
    world.append("topic-1")
    seed = f"{route.key.api_name} {version}"
    rng = random.Random(seed)
    for number, shape in enumerate(shapes(DRAWS)):
        sent = random_message(route.request, version, rng, shape=shape)
        reply = world.answer(route.request.decode(sent.encode(version), version), version)
        assert reply is not None, (seed, number)
        encoded(reply, version)


@pytest.mark.parametrize(("route", "version"), CASES)
def test_a_request_that_fails_as_a_whole_gets_an_answer_in_its_version(route: Route, version: int) -> None:
    rng = random.Random(version)
    for shape in (Shape.NULL, Shape.LOW, Shape.HIGH):
        sent = random_message(route.request, version, rng, shape=shape)
        request = route.request.decode(sent.encode(version), version)
        encoded(route.on_error(request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a mistake")), version)


def repetitive() -> list[Any]:
    """Requests that say the same over and over, or much of what does not exist."""
    asked, name = metadata.MetadataRequest.MetadataRequestTopic, "no-such-topic"
    offsets = offsets_lookup.ListOffsetsRequest
    records = topics.DeleteRecordsRequest
    producers = transaction_admin.DescribeProducersRequest
    alter = configs.IncrementalAlterConfigsRequest
    return [
        metadata.MetadataRequest(topics=[asked(name="topic-1") for _ in range(MANY)]),
        metadata.MetadataRequest(
            topics=[asked(name=f"{name}-{n}") for n in range(MANY)], allow_auto_topic_creation=True
        ),
        metadata.DescribeTopicPartitionsRequest(
            topics=[metadata.DescribeTopicPartitionsRequest.TopicRequest(name="topic-1") for _ in range(MANY)]
        ),
        offsets(
            replica_id=-1,
            topics=[
                offsets.ListOffsetsTopic(
                    name="topic-1", partitions=[offsets.ListOffsetsPartition(partition_index=0, timestamp=1)]
                )
                for _ in range(MANY)
            ],
        ),
        records(
            topics=[
                records.DeleteRecordsTopic(
                    name="topic-1",
                    partitions=[records.DeleteRecordsPartition(partition_index=0, offset=n) for n in range(MANY)],
                )
            ],
            timeout_ms=1,
        ),
        producers(topics=[producers.TopicRequest(name="topic-1", partition_indexes=[0] * MANY)]),
        topics.CreateTopicsRequest(
            topics=[
                topics.CreateTopicsRequest.CreatableTopic(
                    name="new", num_partitions=1, replication_factor=1, assignments=[], configs=[]
                )
                for _ in range(MANY)
            ]
        ),
        alter(
            resources=[
                alter.AlterConfigsResource(resource_type=2, resource_name="topic-1", configs=[]) for _ in range(MANY)
            ],
            validate_only=False,
        ),
        configs.DescribeConfigsRequest(
            resources=[
                configs.DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=4, resource_name="1", configuration_keys=None
                )
                for _ in range(MANY)
            ],
            include_documentation=True,
        ),
        log_dirs.AlterReplicaLogDirsRequest(
            dirs=[
                log_dirs.AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path="/nowhere",
                    topics=[
                        log_dirs.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(
                            name="topic-1", partitions=list(range(MANY))
                        )
                    ],
                )
            ]
        ),
    ]


@pytest.mark.parametrize("request_", repetitive(), ids=lambda request: type(request).__name__)
def test_no_handler_does_quadratic_work_on_a_hostile_request(world: World, request_: Any) -> None:
    """Work is counted in calls of functions: four times the request may need four times as many, not sixteen."""
    world.topic("topic-1")
    high = world.serving[request_.api_key].high

    def work(count: int) -> int:
        cut = _cut(request_, count)
        calls = 0

        def called(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            world.answer(cut, high)
        finally:
            sys.setprofile(None)
        return calls

    work(MANY)  # codecs are compiled, files are opened, topics are made
    assert work(MANY) < 5 * work(MANY // 4)


def _cut(request: Any, count: int) -> Any:
    """The same request with each array cut to so many elements."""
    version = type(request).versions.high if type(request).api_key != ApiKey.INIT_PRODUCER_ID else 5
    copy = type(request).decode(request.encode(version), version)
    _cut_arrays(copy, count)
    return copy


def _cut_arrays(struct: Any, count: int) -> None:
    for name in dir(struct):
        value = None if name.startswith("_") else getattr(struct, name)
        if isinstance(value, list):
            del value[count:]
            for element in value[:1]:
                _cut_arrays(element, count)


def test_what_is_for_controllers_alone_is_not_told_to_clients(world: World) -> None:
    on_broker = {route.key for route in ROUTES if route.is_told and "broker" in route.request.served_on}
    on_controller = {route.key for route in ROUTES if route.is_told and "controller" in route.request.served_on}
    assert told(world, PLAIN) == on_broker
    assert told(world, CONTROLLER) == on_controller


def told(world: World, listener: str) -> set[int]:
    return {each.api_key for each in world.ask(ApiVersionsRequest(), 0, listener=listener).api_keys}
