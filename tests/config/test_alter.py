"""Alterations become changes, or errors with Kafka's codes. What Kafka does is compared in test_against_kafka.py."""

from __future__ import annotations

import pytest

from ottla.config.alter import (
    Alteration,
    Change,
    Operation,
    ResourceType,
    applied,
    check_broker_changes,
    check_changes,
    incremental_changes,
    legacy_changes,
)
from ottla.config.loading import load
from ottla.wire.errors import ErrorCode, KafkaError

CONFIG = load({}, {}).config
TOPIC, BROKER, GROUP = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP
MIN_ISR = "min.insync.replicas"


def test_each_operation_makes_its_change() -> None:
    current = {"cleanup.policy": "compact", "flush.ms": "1"}
    alterations = [
        Alteration("retention.ms", Operation.SET, "5"),
        Alteration("flush.ms", Operation.DELETE, "ignored"),
        Alteration("cleanup.policy", Operation.APPEND, "delete,compact"),
    ]
    changes = incremental_changes(TOPIC, current, alterations)
    assert changes == [
        Change("retention.ms", "5"),
        Change("flush.ms", None),
        Change("cleanup.policy", "compact,delete"),
    ]
    assert applied(current, changes) == {"cleanup.policy": "compact,delete", "retention.ms": "5"}
    subtraction = [Alteration("cleanup.policy", Operation.SUBTRACT, "compact,absent")]
    assert incremental_changes(TOPIC, current, subtraction) == [Change("cleanup.policy", "")]


def test_what_stays_is_written_for_a_broker_only() -> None:
    same = [Alteration("log.retention.ms", Operation.SET, "5")]
    assert incremental_changes(TOPIC, {"log.retention.ms": "5"}, same) == []
    assert incremental_changes(BROKER, {"log.retention.ms": "5"}, same) == [Change("log.retention.ms", "5")]


@pytest.mark.parametrize(
    ("alterations", "code"),
    [
        ([Alteration("a", 0, "1"), Alteration("a", 0, "2")], ErrorCode.INVALID_REQUEST),
        ([Alteration("a", 9, "1")], ErrorCode.INVALID_REQUEST),
        ([Alteration("a", 0, None)], ErrorCode.INVALID_REQUEST),
        ([Alteration("cleanup.policy", 2, None)], ErrorCode.INVALID_REQUEST),
        ([Alteration("retention.ms", 2, "1")], ErrorCode.INVALID_CONFIG),
        ([Alteration("nonsense", 3, "1")], ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_wrong_alteration_is_an_error(alterations: list[Alteration], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        incremental_changes(TOPIC, {}, alterations)
    assert caught.value.code is code


def test_legacy_alterations_take_away_what_they_do_not_name() -> None:
    assert legacy_changes(TOPIC, {"a": "1", "b": "2"}, [("b", "2"), ("c", "3")]) == [
        Change("c", "3"),
        Change("a", None),
    ]
    assert legacy_changes(BROKER, {"b": "2"}, [("b", "2")]) == [Change("b", "2")]


@pytest.mark.parametrize("wanted", [[("a", "1"), ("a", "1")], [("a", None)]])
def test_a_wrong_legacy_alteration_is_an_error(wanted: list[tuple[str, str | None]]) -> None:
    with pytest.raises(KafkaError) as caught:
        legacy_changes(TOPIC, {}, wanted)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("kind", "resource", "change", "code"),
    [
        (TOPIC, "t", Change("retention.ms", "x"), ErrorCode.INVALID_CONFIG),
        (TOPIC, "t", Change("retention.ms", "1" * 32768), ErrorCode.INVALID_CONFIG),
        (TOPIC, "", Change("retention.ms", "1"), ErrorCode.INVALID_REQUEST),
        (GROUP, "g", Change("consumer.session.timeout.ms", "1"), ErrorCode.INVALID_CONFIG),
        (ResourceType.CLIENT_METRICS, "s", Change("interval.ms", "1"), ErrorCode.INVALID_REQUEST),
        (ResourceType.CLIENT_METRICS, "s", Change("match", "nonsense"), ErrorCode.INVALID_CONFIG),
        (ResourceType.CLIENT_METRICS, "s", Change("nonsense", "1"), ErrorCode.INVALID_REQUEST),
        (BROKER, "x", Change("a", "1"), ErrorCode.INVALID_REQUEST),
        (BROKER, "2147483648", Change("a", "1"), ErrorCode.INVALID_REQUEST),
        (BROKER, "9" * 5000, Change("a", "1"), ErrorCode.INVALID_REQUEST),
        (ResourceType.BROKER_LOGGER, "1", Change("root", "INFO"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_change_that_must_not_be_written_is_an_error(
    kind: ResourceType, resource: str, change: Change, code: ErrorCode
) -> None:
    with pytest.raises(KafkaError) as caught:
        check_changes(kind, resource, {}, [change], CONFIG)
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("kind", "resource", "change"),
    [
        (TOPIC, "t", Change("retention.ms", "5")),
        (GROUP, "g", Change("consumer.session.timeout.ms", "50000")),
        (ResourceType.CLIENT_METRICS, "s", Change("interval.ms", "500")),
        (BROKER, "", Change("a", "1")),
        (BROKER, "7", Change("a", None)),
    ],
)
def test_a_change_that_may_be_written_gives_what_the_resource_will_have(
    kind: ResourceType, resource: str, change: Change
) -> None:
    after = {change.name: change.value} if change.value is not None else {}
    assert check_changes(kind, resource, {}, [change], CONFIG) == after


@pytest.mark.parametrize(
    ("resource", "value", "allowed"), [("1", "2", False), ("1", None, True), ("", "2", True), ("", None, False)]
)
def test_with_elr_the_cluster_shares_one_min_insync_replicas(resource: str, value: str | None, allowed: bool) -> None:
    changes = [Change("a", "1"), Change(MIN_ISR, value)]
    check_changes(BROKER, resource, {MIN_ISR: "1"}, changes, CONFIG)
    if allowed:
        check_changes(BROKER, resource, {MIN_ISR: "1"}, changes, CONFIG, elr_enabled=True)
    else:
        with pytest.raises(KafkaError) as caught:
            check_changes(BROKER, resource, {MIN_ISR: "1"}, changes, CONFIG, elr_enabled=True)
        assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_a_broker_judges_its_own_values_with_invalid_request() -> None:
    changed = check_broker_changes(
        CONFIG, {"message.max.bytes": "6"}, [Change("log.retention.ms", "5")], per_broker=True
    )
    assert (changed.log_retention_ms, changed.message_max_bytes) == (5, 6)
    with pytest.raises(KafkaError) as caught:
        check_broker_changes(CONFIG, {}, [Change("node.id", "5")], per_broker=True)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
