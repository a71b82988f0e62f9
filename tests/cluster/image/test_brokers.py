"""Registrations of brokers."""

from __future__ import annotations

import pytest
from hypothesis import given

from ottla.cluster.features import VersionRange
from ottla.cluster.image.brokers import Brokers, broker_of
from ottla.cluster.image.directory_ids import MIGRATING, UNASSIGNED
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord, RegisterBrokerRecord
from tests.wire.strategies import messages

A, B = b"a" * 16, b"b" * 16


def registration(broker_id: int = 1, **values: object) -> RegisterBrokerRecord:
    known = {
        "incarnation_id": bytes(16),
        "broker_epoch": 5,
        "end_points": [
            RegisterBrokerRecord.BrokerEndpoint(name="PLAINTEXT", host="h", port=1, security_protocol=0),
        ],
        "features": [
            RegisterBrokerRecord.BrokerFeature(name="f", min_supported_version=1, max_supported_version=2),
        ],
        "rack": None,
        "fenced": False,
        "log_dirs": [A, B],
    }
    return RegisterBrokerRecord(broker_id=broker_id, **(known | values))  # type: ignore[arg-type]


def change(**values: object) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=5, **values)  # type: ignore[arg-type]


@given(messages(RegisterBrokerRecord, 4))
def test_a_record_comes_back_from_the_registration_that_it_made(record: RegisterBrokerRecord) -> None:
    # Listeners and features are told apart by their names.
    record.end_points = list({end_point.name: end_point for end_point in record.end_points}.values())
    record.features = list({feature.name: feature for feature in record.features}.values())
    assert broker_of(record).to_record() == record


def test_older_metadata_versions_know_less() -> None:
    broker = broker_of(registration(cordoned_log_dirs=[A]))
    assert broker.to_record(30).cordoned_log_dirs == [A]
    assert broker.to_record(29).cordoned_log_dirs is None
    assert broker.to_record(29).log_dirs == [A, B]
    assert broker.to_record(16).log_dirs == []


def test_flags_go_up_go_down_or_stay() -> None:
    broker = broker_of(registration())
    assert broker.changed(change()) == broker
    fenced = broker.changed(change(fenced=1))
    assert fenced.fenced
    assert not fenced.changed(change(fenced=-1)).fenced
    shutting_down = broker.changed(change(in_controlled_shutdown=1))
    assert shutting_down.in_controlled_shutdown
    assert not shutting_down.is_active
    assert broker.is_active
    assert not fenced.is_active


@pytest.mark.parametrize("field", ["fenced", "in_controlled_shutdown"])
def test_a_flag_that_is_no_flag_is_refused(field: str) -> None:
    with pytest.raises(MetadataLogError, match=f"{field} is 2"):
        broker_of(registration()).changed(change(**{field: 2}))


def test_directories_change_where_they_are_named() -> None:
    broker = broker_of(registration())
    assert broker.changed(change(log_dirs=[A])).log_dirs == (A,)
    assert broker.changed(change(cordoned_log_dirs=[])).cordoned_log_dirs == ()


def test_a_broker_takes_new_replicas_while_a_directory_is_not_cordoned() -> None:
    broker = broker_of(registration())
    assert broker.has_uncordoned_log_dirs
    assert broker._replace(cordoned_log_dirs=(A,)).has_uncordoned_log_dirs
    assert not broker._replace(cordoned_log_dirs=(A, B)).has_uncordoned_log_dirs
    assert broker._replace(log_dirs=(), cordoned_log_dirs=(A,)).has_uncordoned_log_dirs


def test_only_a_single_directory_leaves_no_choice() -> None:
    broker = broker_of(registration())
    assert broker.default_log_dir == UNASSIGNED
    assert broker._replace(log_dirs=(A,)).default_log_dir == A
    assert broker._replace(log_dirs=()).default_log_dir == MIGRATING
    assert broker.has_online_log_dir(A)
    assert not broker.has_online_log_dir(b"c" * 16)


def test_a_feature_that_a_broker_does_not_name_is_at_0() -> None:
    broker = broker_of(registration())
    assert broker.feature_range("f") == VersionRange(1, 2)
    assert broker.feature_range("g") == VersionRange(0, 0)


def test_alive_on_a_listener_are_the_unfenced_that_have_it_in_the_order_of_their_ids() -> None:
    other = RegisterBrokerRecord.BrokerEndpoint(name="OTHER", host="h", port=2, security_protocol=0)
    brokers = Brokers(
        {
            record.broker_id: broker_of(record)
            for record in (
                registration(3),
                registration(2, fenced=True),
                registration(1, in_controlled_shutdown=True),
                registration(4, end_points=[other]),
            )
        }
    )
    assert [broker.id for broker, _ in brokers.alive_on("PLAINTEXT")] == [1, 3]
    assert brokers.alive_on("PLAINTEXT") is brokers.alive_on("PLAINTEXT")
    assert [end_point.port for _, end_point in brokers.alive_on("OTHER")] == [2]
    assert [brokers.is_active(id) for id in (1, 2, 3, 9)] == [False, False, True, False]
