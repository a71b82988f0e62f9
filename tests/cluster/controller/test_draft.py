"""A draft: later records see what earlier ones will have done, and users are limited."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import RequestTooLarge
from ottla.cluster.image.directory_ids import MIGRATING, UNASSIGNED
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord, NoOpRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory


def test_a_user_gets_ten_thousand_records_and_the_controller_itself_any_number() -> None:
    state = SmallCluster(1).state
    bounded, free = Draft(state, bounded_for="This"), Draft(state)
    bounded.add(*[NoOpRecord()] * 10_000)
    with pytest.raises(RequestTooLarge, match="This"):
        bounded.add(NoOpRecord())
    free.add(*[NoOpRecord()] * 10_001)
    assert len(free.records) == 10_001


def test_a_broker_that_the_draft_fences_is_fenced_in_the_draft_only() -> None:
    cluster = SmallCluster(1)
    draft = Draft(cluster.state)
    epoch = cluster.state.image.brokers.by_id[1].epoch
    draft.change_broker(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, fenced=1))
    assert not draft.is_active(1)
    assert cluster.state.image.brokers.is_active(1)
    assert not draft.is_active(7)


def test_a_partition_that_the_draft_changes_is_changed_in_the_draft_only() -> None:
    cluster = SmallCluster()
    topic = cluster.create("t", [1, 2, 3])
    draft = Draft(cluster.state)
    change = draft.change(topic, 0)
    change.isr = [1, 2]
    assert draft.commit(change) is not None
    after = draft.partition(topic, 0)
    assert after is not None
    assert after.isr == (1, 2)
    assert cluster.partition("t").isr == (1, 2, 3)
    assert draft.commit(draft.change(topic, 0)) is None
    assert draft.partition(topic, 5) is None


def test_a_leader_has_to_be_active_and_its_log_has_to_be_there() -> None:
    cluster = SmallCluster()
    topic = cluster.create("t", [1, 2, 3])
    draft = Draft(cluster.state)
    acceptable = draft.change(topic, 0)._is_acceptable_leader
    assert [acceptable(id) for id in (1, 7)] == [True, False]
    epoch = cluster.state.image.brokers.by_id[1].epoch
    change = BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=epoch, log_dirs=[directory(1, 9)])
    draft.change_broker(change)
    assert not acceptable(1), "its directory is gone"
    anybody = draft.change(topic, 0, lambda broker_id: True)._is_acceptable_leader
    assert not anybody(7), "it has no replica"


def test_where_a_new_replica_goes_is_open_unless_there_is_no_choice() -> None:
    cluster = SmallCluster(1)
    draft = Draft(cluster.state)
    assert (draft.default_log_dir(1), draft.default_log_dir(7)) == (directory(1), UNASSIGNED)
    old = SmallCluster(1, metadata_version=16)
    assert Draft(old.state).default_log_dir(1) == MIGRATING
