"""Logger levels by Kafka's names: set at once, all of a request or none."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from ottla.cluster.image import ConfigType
from ottla.server.handlers.loggers import levels
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest
from tests.server.handler_world import World

SET, DELETE, APPEND = 0, 1, 2
NAME = "ottla.test_loggers"
Change = tuple[str, int, str | None]


def alter(world: World, *changes: Change, node: str = "1", dry: bool = False) -> int:
    config = IncrementalAlterConfigsRequest.AlterableConfig
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=ConfigType.BROKER_LOGGER,
        resource_name=node,
        configs=[config(name=name, config_operation=operation, value=value) for name, operation, value in changes],
    )
    (answer,) = world.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=dry)).responses
    code: int = answer.error_code
    return code


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger(NAME)
    yield made
    made.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("level", "number"),
    [("TRACE", 10), ("DEBUG", 10), ("INFO", 20), ("WARN", 30), ("ERROR", 40), ("FATAL", 50)],
)
def test_a_logger_gets_its_level_at_once(world: World, logger: logging.Logger, level: str, number: int) -> None:
    assert alter(world, (NAME, SET, level)) == ErrorCode.NONE
    assert logger.level == number
    assert levels()[NAME] == level.replace("TRACE", "DEBUG")
    assert alter(world, (NAME, DELETE, None)) == ErrorCode.NONE
    assert logger.level == logging.NOTSET


def test_a_level_below_all_of_kafkas_is_told_as_the_lowest(logger: logging.Logger) -> None:
    logger.setLevel(1)
    assert levels()[NAME] == "DEBUG"


def test_a_level_that_is_only_validated_is_not_set(world: World, logger: logging.Logger) -> None:
    assert alter(world, (NAME, SET, "ERROR"), dry=True) == ErrorCode.NONE
    assert logger.level == logging.NOTSET


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (("root", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        (("root", SET, "loud"), ErrorCode.INVALID_CONFIG),
        (("root", SET, None), ErrorCode.INVALID_CONFIG),
        (("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG),
    ],
)
def test_one_wrong_level_keeps_all_as_they_are(
    world: World, logger: logging.Logger, change: Change, code: ErrorCode
) -> None:
    assert alter(world, (NAME, SET, "INFO"), change) == code
    assert logger.level == logging.NOTSET


def test_another_brokers_loggers_are_not_ours(world: World) -> None:
    assert alter(world, node="2") == ErrorCode.INVALID_REQUEST
