"""Brokers and controllers join and leave."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.controller.registrations import register_broker, register_controller, unregister_broker
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import (
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    UnregisterBrokerRequest,
)
from ottla.wire.stored.metadata_records import RegisterBrokerRecord, UnregisterBrokerRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory, incarnation


def refusal(cluster: SmallCluster, broker_id: int, **values: Any) -> ErrorCode:
    request = cluster.registration(broker_id, **values)
    with pytest.raises(KafkaError) as refused:
        register_broker(cluster.state, request, 4, next_offset=cluster.next_offset, now_ms=cluster.now_ms)
    return refused.value.code


def test_a_new_broker_is_fenced_and_its_epoch_is_the_offset_of_its_registration() -> None:
    cluster = SmallCluster(0, racks={1: "a"})
    offset = cluster.next_offset
    assert cluster.register(1) == offset
    broker = cluster.state.image.brokers.by_id[1]
    assert (broker.epoch, broker.fenced, broker.rack, broker.log_dirs) == (offset, True, "a", (directory(1),))
    assert broker.listeners["PLAINTEXT"].host == "host1"
    assert broker.feature_range("metadata.version").high == 30


def test_the_same_incarnation_may_amend_what_it_said() -> None:
    cluster = SmallCluster(1)
    epoch = cluster.state.image.brokers.by_id[1].epoch
    assert cluster.register(1, rack="b") == epoch
    broker = cluster.state.image.brokers.by_id[1]
    assert (broker.rack, broker.fenced, broker.epoch) == ("b", False, epoch)


def test_nobody_takes_the_id_of_a_broker_that_is_there() -> None:
    cluster = SmallCluster(1)
    assert refusal(cluster, 1, number=1) == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    cluster.now_ms += 9_001
    assert cluster.register(1, number=1) > 0


def test_a_broker_that_was_fenced_may_be_replaced_at_once() -> None:
    cluster = SmallCluster(1)
    cluster.fence(1)
    epoch = cluster.start(1, number=1)
    assert cluster.state.image.brokers.by_id[1].incarnation_id == incarnation(1, 1)
    assert cluster.state.image.brokers.by_id[1].epoch == epoch


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [bytes(16)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory(9), directory(9)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [directory(1)]}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
    ],
)
def test_a_broker_that_does_not_belong_here_is_refused(values: dict[str, Any], code: ErrorCode) -> None:
    assert refusal(SmallCluster(1), 9, **values) == code


def test_a_broker_has_to_support_every_finalized_level() -> None:
    cluster = SmallCluster(0)
    features = cluster.registration(1).features
    without_group = [feature for feature in features if feature.name != "group.version"]
    assert refusal(cluster, 1, features=without_group) == ErrorCode.UNSUPPORTED_VERSION
    without_kraft = [feature for feature in features if feature.name != "kraft.version"]
    assert refusal(cluster, 1, features=without_kraft) == ErrorCode.UNSUPPORTED_VERSION
    too_new = BrokerRegistrationRequest.Feature(name="new", min_supported_version=1, max_supported_version=2)
    assert refusal(cluster, 1, features=[*features, too_new]) == ErrorCode.UNSUPPORTED_VERSION
    spare = BrokerRegistrationRequest.Feature(name="new", min_supported_version=0, max_supported_version=2)
    cluster.register(1, features=[*features, spare])


def test_a_listener_has_a_protocol_that_there_is() -> None:
    listener = BrokerRegistrationRequest.Listener(name="L", host="h", port=1, security_protocol=7)
    assert refusal(SmallCluster(0), 1, listeners=[listener]) == ErrorCode.INVALID_REQUEST


def test_before_directories_were_recorded_none_are_asked_for() -> None:
    cluster = SmallCluster(0, metadata_version=16, features={})
    features = [f for f in cluster.registration(1).features if f.name in ("metadata.version", "kraft.version")]
    cluster.register(1, log_dirs=[], features=features)
    assert cluster.state.image.brokers.by_id[1].log_dirs == ()


@pytest.mark.parametrize(("version", "elr"), [(3, (1,)), (2, ())])
def test_an_old_request_cannot_say_that_the_shutdown_was_clean(version: int, elr: tuple[int, ...]) -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="3")
    cluster.fence(1)
    epoch = cluster.state.image.brokers.by_id[1].epoch
    cluster.register(1, number=1, version=version, previous_broker_epoch=epoch)
    assert cluster.partition("t").elr == elr


def test_an_unregistered_broker_is_gone_from_every_isr() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="3")
    cluster.create("u", [2, 1], min_insync_replicas="2")
    result = unregister_broker(cluster.state, UnregisterBrokerRequest(broker_id=1))
    assert isinstance(result.records[-1], UnregisterBrokerRecord)
    cluster.do(result)
    assert list(cluster.state.image.brokers.by_id) == [2, 3]
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2, 3))
    with pytest.raises(KafkaError) as refused:
        unregister_broker(cluster.state, UnregisterBrokerRequest(broker_id=1))
    assert refused.value.code == ErrorCode.BROKER_ID_NOT_REGISTERED


def controller_request(security_protocol: int = 0) -> ControllerRegistrationRequest:
    return ControllerRegistrationRequest(
        controller_id=101,
        incarnation_id=incarnation(101),
        zk_migration_ready=True,
        listeners=[
            ControllerRegistrationRequest.Listener(
                name="CONTROLLER", host="c", port=9093, security_protocol=security_protocol
            )
        ],
        features=[
            ControllerRegistrationRequest.Feature(
                name="metadata.version", min_supported_version=7, max_supported_version=30
            )
        ],
    )


def test_a_controller_says_where_it_is_and_what_it_supports() -> None:
    cluster = SmallCluster(0)
    cluster.do(register_controller(cluster.state, controller_request()))
    record = cluster.state.image.controllers[101]
    assert (record.end_points[0].port, record.features[0].max_supported_version) == (9093, 30)
    assert not record.zk_migration_ready


def test_a_controller_that_does_not_belong_here_is_refused() -> None:
    with pytest.raises(KafkaError, match="security protocol 7"):
        register_controller(SmallCluster(0).state, controller_request(7))
    with pytest.raises(KafkaError) as refused:
        register_controller(SmallCluster(0, metadata_version=14).state, controller_request())
    assert refused.value.code == ErrorCode.UNSUPPORTED_VERSION


def test_a_registration_says_all_that_the_request_said() -> None:
    cluster = SmallCluster(0)
    request = cluster.registration(1)
    result = register_broker(cluster.state, request, 4, next_offset=77, now_ms=0)
    (record,) = result.records
    assert isinstance(record, RegisterBrokerRecord)
    assert (record.broker_epoch, record.fenced, record.incarnation_id) == (77, True, request.incarnation_id)
    assert [feature.name for feature in record.features] == [feature.name for feature in request.features]
