"""Heartbeats that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinators.consumer_group.request_checks import check_heartbeat
from ottla.coordinators.settings import GroupSettings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

JOIN = {"member_epoch": 0, "rebalance_timeout_ms": 1, "subscribed_topic_names": [], "topic_partitions": []}
OWNED = [ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=bytes(16), partitions=[0])]


def check(version: int = 1, **fields: Any) -> None:
    fields = {"group_id": "g", "member_id": "m", "member_epoch": 1} | fields
    check_heartbeat(ConsumerGroupHeartbeatRequest(**fields), version, GroupSettings())


@pytest.mark.parametrize(
    "fields",
    [
        {},
        JOIN,
        JOIN | {"subscribed_topic_names": None, "subscribed_topic_regex": ""},
        JOIN | {"server_assignor": "range"},
        {"member_epoch": -1},
        {"member_epoch": -2, "instance_id": "i"},
    ],
)
def test_what_can_be_meant_is_taken(fields: dict[str, Any]) -> None:
    check(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"member_id": ""},
        {"member_id": " "},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": " "},
        {"member_epoch": -2},
        {"member_epoch": -3},
        JOIN | {"rebalance_timeout_ms": -1},
        JOIN | {"topic_partitions": None},
        JOIN | {"topic_partitions": OWNED},
        JOIN | {"subscribed_topic_names": None},
    ],
)
def test_what_cannot_be_meant_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(KafkaError) as caught:
        check(**fields)
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_an_assignor_that_is_not_there_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        check(server_assignor="sticky")
    assert caught.value.code is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_in_version_0_a_member_may_join_without_an_id_and_do_nothing_else() -> None:
    check(version=0, member_id="", **JOIN)
    for epoch in (1, -1):
        with pytest.raises(KafkaError):
            check(version=0, member_id="", member_epoch=epoch)
