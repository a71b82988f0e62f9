"""What a change of a partition entails. test_against_kafka.py compares thousands of changes with Kafka's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ottla.cluster.controller.partition_change import Election, PartitionChange
from ottla.cluster.image import NO_LEADER, Partition
from ottla.cluster.image.partitions import NO_LEADER_CHANGE, RECOVERED, RECOVERING

TOPIC_ID = b"t" * 16


def partition(replicas: Iterable[int] = (1, 2, 3), isr: Iterable[int] = (1, 2, 3), **values: object) -> Partition:
    replicas = tuple(replicas)
    directories = tuple(bytes([replica]) * 16 for replica in replicas)
    known = {"leader": next(iter(isr), NO_LEADER)} | values
    return Partition(replicas, directories, tuple(isr), **known)  # type: ignore[arg-type]


def change(
    before: Partition,
    *,
    active: Iterable[int] = (1, 2, 3, 4),
    min_isr: int = 1,
    elr: bool = True,
    metadata_version: int = 30,
) -> PartitionChange:
    return PartitionChange(
        before,
        TOPIC_ID,
        0,
        is_acceptable_leader=set(active).__contains__,
        default_log_dir=lambda broker_id: bytes([broker_id, broker_id]) * 8,
        metadata_version=metadata_version,
        min_insync_replicas=min_isr,
        elr_enabled=elr,
    )


def applied(made: PartitionChange) -> Partition:
    record = made.build()
    assert record is not None
    return made.partition.changed(record)


def test_nothing_to_do_is_no_record() -> None:
    assert change(partition()).build() is None


def test_the_next_in_sync_replica_leads_when_the_leader_is_gone() -> None:
    made = change(partition(), active=(2, 3))
    made.isr = [2, 3]
    after = applied(made)
    assert (after.leader, after.isr, after.leader_epoch, after.partition_epoch) == (2, (2, 3), 1, 1)


def test_a_leader_that_can_stay_stays() -> None:
    made = change(partition(leader=3))
    made.isr = [1, 3]
    after = applied(made)
    assert (after.leader, after.leader_epoch, after.partition_epoch) == (3, 0, 1)


def test_before_3_6_a_smaller_isr_raises_the_leader_epoch() -> None:
    for metadata_version, epoch in ((11, 1), (12, 0)):
        made = change(partition(), elr=False, metadata_version=metadata_version)
        made.isr = [1, 2]
        assert applied(made).leader_epoch == epoch


def test_who_leaves_a_too_small_isr_stays_eligible() -> None:
    made = change(partition(isr=(1, 2)), min_isr=2)
    made.isr = [1]
    after = applied(made)
    assert (after.isr, after.elr) == ((1,), (2,))
    back = change(after, min_isr=2)
    back.isr = [1, 3]
    assert applied(back).elr == (), "once the ISR is large enough, all that counts is in it"


def test_an_eligible_replica_leads_when_the_isr_is_empty() -> None:
    made = change(partition(isr=(), leader=NO_LEADER, elr=(2, 3), last_known_elr=(1,)), active=(3,), min_isr=2)
    after = applied(made)
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (3, (3,), (2,), ())
    assert after.leader_recovery_state == RECOVERED, "the election was clean"


def test_the_last_leader_is_remembered_while_there_is_none() -> None:
    made = change(partition(isr=(1,), leader=1), active=())
    made.isr = []
    after = applied(made)
    assert (after.leader, after.isr, after.elr, after.last_known_elr) == (NO_LEADER, (), (1,), (1,))


def test_the_last_leader_may_lead_again_when_nobody_else_is_eligible() -> None:
    before = partition(isr=(), leader=NO_LEADER, last_known_elr=(2,))
    after = applied(change(before, active=(2, 3)))
    assert (after.leader, after.isr, after.leader_recovery_state) == (2, (2,), RECOVERING)
    assert change(before, active=(1, 3)).build() is None
    assert change(before._replace(last_known_elr=(2, 3))).build() is None
    assert change(before._replace(last_known_elr=()), elr=True).build() is None


def test_a_broker_that_lost_its_page_cache_is_not_eligible() -> None:
    made = change(partition(isr=(1, 2)), active=(1,), min_isr=2)
    made.isr = [1]
    made.unclean_shutdown_replica = 2
    assert applied(made).elr == ()


def test_without_elr_the_last_isr_is_kept() -> None:
    made = change(partition(isr=(1,)), active=(), elr=False)
    made.isr = []
    after = applied(made)
    assert (after.leader, after.isr, after.elr) == (NO_LEADER, (1,), ())


def test_switching_elr_off_empties_it() -> None:
    made = change(partition(isr=(1,), elr=(2,)), elr=False)
    assert applied(made).elr == ()


def test_any_replica_leads_where_records_may_be_lost() -> None:
    made = change(partition(isr=(1,)), active=(3,), elr=False)
    made.isr = []
    made.election = Election.UNCLEAN
    after = applied(made)
    assert (after.leader, after.isr, after.leader_recovery_state) == (3, (3,), RECOVERING)
    nobody = change(partition(isr=(1,)), active=(), elr=False)
    nobody.election = Election.UNCLEAN
    assert applied(nobody).leader == NO_LEADER
    recovering = change(partition(isr=(1,), leader_recovery_state=RECOVERING), active=(3,), elr=False)
    recovering.election = Election.UNCLEAN
    record = recovering.build()
    assert record is not None
    assert record.leader_recovery_state == -1, "it stays what it is"


def test_the_preferred_leader_takes_over_if_it_can() -> None:
    made = change(partition(leader=2))
    made.election = Election.PREFERRED
    assert applied(made).leader == 1
    cannot = change(partition(isr=(2, 3), leader=2))
    cannot.election = Election.PREFERRED
    assert cannot.build() is None


def test_a_leader_that_has_recovered_says_so() -> None:
    made = change(partition(isr=(1,), leader_recovery_state=RECOVERING))
    made.leader_recovery_state = RECOVERED
    assert applied(made).leader_recovery_state == RECOVERED


@pytest.mark.parametrize(
    ("isr", "is_complete"),
    [((1, 2, 3), False), ((1, 4), True), ((4,), True), ((2, 3, 4), True)],
)
def test_a_move_is_complete_when_those_that_come_are_in_sync(isr: tuple[int, ...], is_complete: bool) -> None:
    made = change(partition((1, 4, 2, 3), (1, 2, 3), removing_replicas=(3,), adding_replicas=(4,), leader=1))
    made.isr = list(isr)
    if not is_complete:
        assert made.build() is None
        return
    after = applied(made)
    assert not after.is_reassigning
    assert after.replicas == (1, 4, 2)
    assert 3 not in after.isr
    assert after.leader_epoch == 1, "a replica that is dropped has to hear of it"


def test_where_there_will_be_fewer_replicas_all_that_stay_are_waited_for() -> None:
    for isr, is_complete in (([1, 3], False), ([1, 2, 3], True)):
        made = change(partition((1, 2, 3), (1, 3), removing_replicas=(3,), leader=1))
        made.isr = isr
        record = made.build()
        done = record is not None and record.replicas == [1, 2]
        assert done is is_complete
    alone = change(partition((1, 3), (3,), removing_replicas=(3,), leader=3))
    assert alone.build() is None


def test_a_new_replica_gets_its_brokers_directory() -> None:
    made = change(partition((1,), (1,)))
    made.replicas, made.adding = [1, 4], [4]
    record = made.build()
    assert record is not None
    assert record.directories == [bytes([1]) * 16, bytes([4, 4]) * 8]
    old = change(partition((1,), (1,)), elr=False, metadata_version=16)
    old.replicas, old.adding = [1, 4], [4]
    before_directories = old.build()
    assert before_directories is not None
    assert before_directories.directories is None


def test_a_move_without_any_other_change_leaves_the_leader_alone() -> None:
    made = change(partition())
    made.directories[2] = b"n" * 16
    record = made.build()
    assert record is not None
    assert record.leader == NO_LEADER_CHANGE
    assert record.directories == [bytes([1]) * 16, b"n" * 16, bytes([3]) * 16]


def test_a_replica_that_a_move_dropped_is_not_eligible() -> None:
    made = change(partition((1, 4, 3), (1, 3), removing_replicas=(3,), adding_replicas=(4,), leader=1), min_isr=3)
    made.isr = [1, 3, 4]
    after = applied(made)
    assert (after.replicas, after.isr, after.elr) == ((1, 4), (1, 4), ())
