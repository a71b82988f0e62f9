"""IncrementalAlterConfigs and AlterConfigs: what is checked here, what the controller says, the order of answers."""

from __future__ import annotations

import pytest

from ottla.cluster.image import ConfigType
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from tests.server.handler_world import CONTROLLER, PLAIN, World

TOPIC, BROKER, LOGGER, METRICS, GROUP = (int(kind) for kind in ConfigType)
SET, DELETE, APPEND, SUBTRACT = range(4)
Change = tuple[str, int, str | None]
Resource = tuple[int, str, list[Change]]


def alter(
    world: World, *resources: Resource, version: int = 1, dry: bool = False, listener: str = PLAIN
) -> list[tuple[str, int]]:
    config = IncrementalAlterConfigsRequest.AlterableConfig
    request = IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    config(name=key, config_operation=operation, value=value) for key, operation, value in changes
                ],
            )
            for kind, name, changes in resources
        ],
        validate_only=dry,
    )
    response = world.ask(request, version, listener=listener)
    return [(each.resource_name, each.error_code) for each in response.responses]


def put(
    world: World, *resources: tuple[int, str, dict[str, str | None]], version: int = 2, dry: bool = False
) -> list[tuple[str, int]]:
    config = AlterConfigsRequest.AlterableConfig
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[config(name=key, value=value) for key, value in values.items()],
            )
            for kind, name, values in resources
        ],
        validate_only=dry,
    )
    return [(each.resource_name, each.error_code) for each in world.ask(request, version).responses]


def overrides(world: World, kind: int, name: str) -> dict[str, str]:
    return world.broker.image.config_overrides(kind, name)


@pytest.mark.parametrize("version", [0, 1])
def test_values_of_a_topic_are_set_and_taken_away(world: World, version: int) -> None:
    world.topic("a")
    assert alter(world, (TOPIC, "a", [("retention.ms", SET, "1000")]), version=version) == [("a", 0)]
    assert overrides(world, TOPIC, "a") == {"retention.ms": "1000"}
    assert alter(world, (TOPIC, "a", [("retention.ms", DELETE, None)]), version=version) == [("a", 0)]
    assert overrides(world, TOPIC, "a") == {}


def test_lists_are_added_to_and_taken_from(world: World) -> None:
    world.topic("a")
    alter(world, (TOPIC, "a", [("cleanup.policy", APPEND, "compact")]))
    assert overrides(world, TOPIC, "a") == {"cleanup.policy": "delete,compact"}
    alter(world, (TOPIC, "a", [("cleanup.policy", SUBTRACT, "delete")]))
    assert overrides(world, TOPIC, "a") == {"cleanup.policy": "compact"}
    assert alter(world, (TOPIC, "a", [("retention.ms", APPEND, "1")])) == [("a", ErrorCode.INVALID_CONFIG)]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_old_form_takes_away_what_it_does_not_name(world: World, version: int) -> None:
    world.topic("a", configs={"retention.ms": "1000", "segment.ms": "2000"})
    assert put(world, (TOPIC, "a", {"retention.ms": "3000"}), version=version) == [("a", 0)]
    assert overrides(world, TOPIC, "a") == {"retention.ms": "3000"}


def test_what_is_only_validated_is_not_written(world: World) -> None:
    world.topic("a")
    assert alter(world, (TOPIC, "a", [("retention.ms", SET, "1000")]), dry=True) == [("a", 0)]
    assert put(world, (TOPIC, "a", {"retention.ms": "1000"}), dry=True) == [("a", 0)]
    assert overrides(world, TOPIC, "a") == {}


def test_answers_come_in_the_order_of_the_request_whoever_gives_them(world: World) -> None:
    world.topic("a")
    answers = alter(
        world,
        (99, "x", []),
        (TOPIC, "a", [("retention.ms", SET, "1000")]),
        (BROKER, "7", []),
        (TOPIC, "missing", [("retention.ms", SET, "1000")]),
        (LOGGER, "1", []),
    )
    assert answers == [
        ("x", ErrorCode.INVALID_REQUEST),
        ("a", ErrorCode.NONE),
        ("7", ErrorCode.INVALID_REQUEST),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("1", ErrorCode.NONE),
    ]
    assert overrides(world, TOPIC, "a") == {"retention.ms": "1000"}


def test_a_resource_that_is_named_twice_is_refused_twice_and_not_touched(world: World) -> None:
    world.topic("a")
    twice: Resource = (TOPIC, "a", [("retention.ms", SET, "1000")])
    assert alter(world, twice, twice) == [("a", ErrorCode.INVALID_REQUEST)] * 2
    assert overrides(world, TOPIC, "a") == {}


def test_a_key_that_is_named_twice_is_refused(world: World) -> None:
    world.topic("a")
    change: Change = ("retention.ms", SET, "1000")
    assert alter(world, (TOPIC, "a", [change, change])) == [("a", ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (TOPIC, "a", ("retention.ms", SET, "soon"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", ("no.such.key", SET, "1"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "a", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (TOPIC, "a", ("retention.ms", 9, "1"), ErrorCode.UNKNOWN_SERVER_ERROR),
        (TOPIC, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (TOPIC, "../x", ("retention.ms", SET, "1"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "1", ("log.dirs", SET, "/elsewhere"), ErrorCode.INVALID_REQUEST),
        (BROKER, "1", ("log.retention.ms", SET, "soon"), ErrorCode.INVALID_REQUEST),
        (BROKER, "", ("log.retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (GROUP, "g", ("consumer.session.timeout.ms", SET, "1"), ErrorCode.INVALID_CONFIG),
        (METRICS, "m", ("no.such.key", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_makes_no_sense_is_refused(world: World, kind: int, name: str, change: Change, code: ErrorCode) -> None:
    world.topic("a")
    assert alter(world, (kind, name, [change])) == [(name, code)]


def test_brokers_groups_and_subscriptions_have_values_too(world: World) -> None:
    assert alter(
        world,
        (BROKER, "1", [("log.retention.ms", SET, "1000")]),
        (BROKER, "", [("log.retention.ms", SET, "2000")]),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "46000")]),
        (METRICS, "m", [("interval.ms", SET, "1000")]),
    ) == [("1", 0), ("", 0), ("g", 0), ("m", 0)]
    assert overrides(world, BROKER, "1") == {"log.retention.ms": "1000"}
    assert overrides(world, BROKER, "") == {"log.retention.ms": "2000"}
    assert put(world, (BROKER, "1", {"log.cleaner.threads": "2"})) == [("1", 0)]
    assert overrides(world, BROKER, "1") == {"log.cleaner.threads": "2"}


def test_the_old_form_knows_no_loggers_and_no_null(world: World) -> None:
    world.topic("a")
    assert put(world, (LOGGER, "1", {"root": "INFO"})) == [("1", ErrorCode.INVALID_REQUEST)]
    assert put(world, (TOPIC, "a", {"retention.ms": None})) == [("a", ErrorCode.INVALID_REQUEST)]
    assert put(world, (BROKER, "2", {})) == [("2", ErrorCode.INVALID_REQUEST)]


def test_controllers_take_what_is_meant_for_any_broker(world: World) -> None:
    world.register(2)
    asked = (BROKER, "2", [("background.threads", SET, "12")])
    assert alter(world, asked) == [("2", ErrorCode.INVALID_REQUEST)]
    assert alter(world, asked, listener=CONTROLLER) == [("2", ErrorCode.NONE)]
    assert overrides(world, BROKER, "2") == {"background.threads": "12"}
    nobody = (BROKER, "7", [("background.threads", SET, "12")])
    assert alter(world, nobody, listener=CONTROLLER) == [("7", ErrorCode.BROKER_ID_NOT_REGISTERED)]
