"""What happens to a broker's partitions when it comes and goes."""

from __future__ import annotations

from ottla.cluster.controller import fail_over
from ottla.cluster.controller.draft import Draft
from ottla.cluster.image import NO_LEADER
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory


def test_a_fenced_broker_leads_nothing_and_is_in_no_isr() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], [2, 1, 3], [3, 2, 1])
    cluster.fence(1)
    assert [cluster.partition("t", id).leader for id in range(3)] == [2, 2, 3]
    assert [cluster.partition("t", id).isr for id in range(3)] == [(2, 3), (2, 3), (3, 2)]


def test_the_records_about_partitions_come_before_the_one_about_the_broker() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2])
    kinds = [type(record) for record in cluster.heartbeat(1, want_fence=True).records]
    assert kinds == [PartitionChangeRecord, BrokerRegistrationChangeRecord]


def test_a_broker_that_comes_back_leads_what_nobody_led() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1])
    cluster.fence(1)
    assert cluster.partition("t").leader == NO_LEADER
    assert cluster.partition("t").elr == (1,)
    cluster.beat(1)
    assert (cluster.partition("t").leader, cluster.partition("t").isr, cluster.partition("t").elr) == (1, (1,), ())


def test_without_elr_a_broker_that_comes_back_leads_as_well() -> None:
    cluster = SmallCluster(features={})
    cluster.create("t", [1])
    cluster.fence(1)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (NO_LEADER, (1,))
    cluster.beat(1)
    assert cluster.partition("t").leader == 1


def test_the_last_replica_standing_is_not_trusted_after_an_unclean_restart() -> None:
    """KIP-966: brokers 2 and 3 fall behind, 1 goes on alone, dies, and comes back without what it had not written."""
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="2")
    cluster.fence(2)
    cluster.fence(3)
    assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((1,), (3,))
    cluster.fence(1)
    assert (cluster.partition("t").isr, cluster.partition("t").elr) == ((), (1, 3))
    cluster.start(1, number=1)
    assert (cluster.partition("t").leader, cluster.partition("t").elr) == (NO_LEADER, (3,))
    cluster.beat(3)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (3, (3,))


def test_of_two_that_restart_uncleanly_the_one_that_was_trusted_longer_leads() -> None:
    """Nobody is promised anything then (KIP-966). But the last leader is in doubt at a time when the other is not."""
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="2")
    for id in (3, 2, 1):
        cluster.fence(id)
    assert (cluster.partition("t").elr, cluster.partition("t").last_known_elr) == ((1, 2), (1,))
    cluster.start(1, number=1)
    assert (cluster.partition("t").elr, cluster.partition("t").last_known_elr) == ((2,), (2,))
    cluster.start(2, number=1)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))


def test_a_leader_that_is_still_counted_on_when_it_restarts_uncleanly_is_not_the_one_to_go_back_to() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="2")
    cluster.fence(3)
    cluster.fence(2)
    cluster.now_ms += 20_000
    cluster.start(1, number=1)
    assert (cluster.partition("t").leader, cluster.partition("t").elr) == (NO_LEADER, (2,))
    assert cluster.partition("t").last_known_elr == (2,)


def test_the_only_one_there_was_leads_again_after_an_unclean_restart() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1])
    cluster.fence(1)
    cluster.start(1, number=1)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (1, (1,))


def test_a_clean_restart_leaves_a_broker_eligible() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], min_insync_replicas="2")
    cluster.fence(2)
    cluster.fence(3)
    cluster.fence(1)
    epoch = cluster.state.image.brokers.by_id[1].epoch
    cluster.start(1, number=1, previous_broker_epoch=epoch)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (1, (1,))


def test_an_unclean_restart_takes_a_broker_out_of_the_isr_where_it_still_was() -> None:
    cluster = SmallCluster(features={})
    cluster.create("t", [1, 2])
    cluster.now_ms += 20_000
    cluster.register(1, number=1)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))


def test_records_may_be_lost_where_the_topic_allows_it() -> None:
    cluster = SmallCluster(features={})
    cluster.create("t", [1, 2], unclean_leader_election_enable="true")
    cluster.fence(2)
    cluster.fence(1)
    assert cluster.partition("t").leader == NO_LEADER
    cluster.beat(2)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (2, (2,))


def test_partitions_in_a_directory_that_is_gone_move_and_others_stay() -> None:
    cluster = SmallCluster()
    cluster.fence(1)
    cluster.start(1, number=1, log_dirs=[directory(1), directory(1, 1)])
    topic = cluster.create("t", [1, 2], [1, 2])
    for partition_id, number in ((0, 0), (1, 1)):
        directories = [directory(1, number), directory(2)]
        cluster.replay(PartitionChangeRecord(partition_id=partition_id, topic_id=topic.id, directories=directories))
    broker = cluster.state.image.brokers.by_id[1]
    draft = Draft(cluster.state)
    fail_over.take_directories_offline(draft, broker, [directory(1, 1), directory(9)])
    cluster.replay(*draft.records)
    assert [cluster.partition("t", id).leader for id in range(2)] == [1, 2]
    assert cluster.state.image.brokers.by_id[1].log_dirs == (directory(1),)


def test_a_broker_without_any_directory_leads_nothing_and_no_record_says_more() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2])
    draft = Draft(cluster.state)
    fail_over.take_directories_offline(draft, cluster.state.image.brokers.by_id[1], [directory(1)])
    assert [type(record) for record in draft.records] == [PartitionChangeRecord]
    nothing = Draft(cluster.state)
    fail_over.take_directories_offline(nothing, cluster.state.image.brokers.by_id[1], [directory(9)])
    assert nothing.records == []
