"""Heartbeats: a broker is unfenced, fenced, let go; and what its silence means."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.heartbeats import fence_broker, fence_stale_broker
from ottla.cluster.image import NO_LEADER
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory


def test_a_broker_is_unfenced_once_it_has_read_its_own_registration() -> None:
    cluster = SmallCluster(0)
    cluster.register(1)
    offset = cluster.state.image.offset
    early = cluster.beat(1, current_metadata_offset=offset - 1)
    assert (early.is_caught_up, early.is_fenced) == (False, True)
    waiting = cluster.beat(1, want_fence=True)
    assert (waiting.is_caught_up, waiting.is_fenced) == (True, True)
    ready = cluster.beat(1)
    assert (ready.is_caught_up, ready.is_fenced, ready.should_shut_down) == (True, False, False)
    assert cluster.heartbeat(1).records == []


def test_a_broker_may_ask_to_be_fenced() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    assert cluster.beat(1, want_fence=True).is_fenced
    assert cluster.partition("t").leader == 2


def test_a_broker_that_leads_nothing_may_go_at_once() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [2, 1])
    answer = cluster.beat(1, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (True, True)
    assert cluster.partition("t").isr == (2,)


def test_a_broker_that_wants_fence_and_shutdown_goes_at_once() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    assert cluster.beat(1, want_fence=True, want_shut_down=True).should_shut_down


def test_a_fenced_broker_may_go_and_needs_no_record() -> None:
    cluster = SmallCluster(1)
    cluster.fence(1)
    result = cluster.heartbeat(1, want_shut_down=True)
    assert (result.response.should_shut_down, result.records) == (True, [])


def test_a_leader_goes_when_leaders_have_moved_and_everyone_has_read_so() -> None:
    cluster = SmallCluster(3)
    cluster.create("t", [1, 2, 3])
    before = cluster.state.image.offset
    answer = cluster.beat(1, want_shut_down=True)
    assert (answer.is_fenced, answer.should_shut_down) == (False, False)
    assert cluster.state.image.brokers.by_id[1].in_controlled_shutdown
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2, 3))
    for broker_id in (2, 3):
        cluster.beat(broker_id, current_metadata_offset=before)
    assert not cluster.beat(1, want_shut_down=True).should_shut_down, "2 and 3 have not read it yet"
    cluster.beat(2)
    cluster.beat(3)
    gone = cluster.beat(1, want_shut_down=True)
    assert (gone.is_fenced, gone.should_shut_down) == (True, True)


def test_the_last_broker_goes_when_it_leads_nothing() -> None:
    cluster = SmallCluster(1)
    cluster.create("t", [1])
    assert not cluster.beat(1, want_shut_down=True).should_shut_down
    assert cluster.partition("t").leader == NO_LEADER
    assert cluster.beat(1, want_shut_down=True).should_shut_down


def test_a_broker_that_was_let_go_starts_anew() -> None:
    cluster = SmallCluster(1)
    cluster.create("t", [1])
    cluster.beat(1, want_shut_down=True)
    cluster.beat(1, want_shut_down=True)
    epoch = cluster.state.image.brokers.by_id[1].epoch
    cluster.start(1, number=1, previous_broker_epoch=epoch)
    assert cluster.state.image.brokers.by_id[1].is_active
    assert cluster.partition("t").leader == 1


def test_another_incarnation_is_told_that_it_is_stale() -> None:
    cluster = SmallCluster(1)
    with pytest.raises(KafkaError) as refused:
        cluster.heartbeat(1, broker_epoch=12345)
    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_a_directory_that_is_gone_takes_its_leaders_along() -> None:
    cluster = SmallCluster(2)
    cluster.fence(1)
    cluster.start(1, number=1, log_dirs=[directory(1), directory(1, 1)])
    cluster.create("t", [1, 2])
    cluster.beat(1, offline_log_dirs=[directory(1, 1)])
    assert cluster.partition("t").leader == 1, "its directory is not assigned yet"
    assert cluster.state.image.brokers.by_id[1].log_dirs == (directory(1),)
    assert cluster.heartbeat(1, offline_log_dirs=[directory(1, 1)]).records == []


def test_a_broker_that_comes_back_without_a_directory_does_not_lead_what_was_in_it() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1])
    cluster.fence(1)
    cluster.register(1, log_dirs=[directory(1), directory(1, 1)])
    answer = cluster.beat(1, offline_log_dirs=[directory(1)])
    assert not answer.is_fenced
    partition = cluster.partition("t")
    assert (partition.leader, partition.isr) == (NO_LEADER, ())


def test_cordoned_directories_are_written_when_they_change() -> None:
    cluster = SmallCluster(1)
    (record,) = cluster.heartbeat(1, cordoned_log_dirs=[directory(1)]).records
    assert isinstance(record, BrokerRegistrationChangeRecord)
    assert record.cordoned_log_dirs == [directory(1)]
    cluster.replay(record)
    assert cluster.heartbeat(1, cordoned_log_dirs=[directory(1)]).records == []
    assert cluster.heartbeat(1).records == []


def test_an_old_cluster_hears_of_no_directories() -> None:
    cluster = SmallCluster(0, metadata_version=16, features={})
    cluster.start(1)
    assert cluster.heartbeat(1, offline_log_dirs=[directory(1)], cordoned_log_dirs=[directory(1)]).records == []


def test_brokers_that_fall_silent_are_fenced_one_after_the_other() -> None:
    cluster = SmallCluster(3)
    cluster.create("t", [1, 2, 3])
    cluster.now_ms += 5_000
    cluster.beat(3)
    cluster.now_ms += 4_000
    assert fence_stale_broker(cluster.state, cluster.now_ms).response is None
    cluster.now_ms += 1
    fenced = []
    while (broker_id := cluster.do(fence_stale_broker(cluster.state, cluster.now_ms))) is not None:
        fenced.append(broker_id)
    assert fenced == [1, 2]
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (3, (3,))


def test_a_broker_that_is_known_to_be_gone_is_fenced_at_once() -> None:
    cluster = SmallCluster(2)
    cluster.create("t", [1, 2])
    cluster.do(fence_broker(cluster.state, 1))
    assert cluster.partition("t").leader == 2
    assert fence_broker(cluster.state, 1).records == []
    assert fence_broker(cluster.state, 9).records == []
