"""Clusters to which everything happens, at random: what must hold always, holds after every step.

One seed is one history; a failure names it. Brokers come, go, lose their page cache or a directory; topics are made,
moved, grown and deleted; leaders propose ISRs; controllers fail over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from random import Random

import pytest

from ottla.cluster.controller import Result
from ottla.cluster.controller.elections import PREFERRED, UNCLEAN, balance_leaders, elect_leaders
from ottla.cluster.controller.heartbeats import fence_stale_broker
from ottla.cluster.controller.in_sync import alter_partition
from ottla.cluster.controller.partition_growth import create_partitions
from ottla.cluster.controller.partition_index import PartitionIndex
from ottla.cluster.controller.reassignments import alter_partition_reassignments
from ottla.cluster.controller.registrations import unregister_broker
from ottla.cluster.controller.topics import delete_topics
from ottla.cluster.image import EMPTY, NO_LEADER, MetadataDelta, Partition, snapshot_records
from ottla.cluster.metadata_log import decode_record, encode_record
from ottla.wire.errors import KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, UnregisterBrokerRequest
from ottla.wire.messages.partition_admin import AlterPartitionReassignmentsRequest, ElectLeadersRequest
from ottla.wire.messages.topics import CreatePartitionsRequest, DeleteTopicsRequest
from tests.cluster.controller.small_cluster import SmallCluster, directory
from tests.cluster.controller.test_partition_index import contents

BROKERS = range(1, 6)


class History:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.has_elr = self.random.random() < 0.7
        self.cluster = SmallCluster(5, features=None if self.has_elr else {})
        self.incarnations = 0
        self.topics = 0
        self.proposed: list[int] = []
        self.steps: list[Callable[[], object]] = [
            self.create,
            self.create,
            self.delete,
            self.grow,
            self.propose,
            self.propose,
            self.reassign,
            self.elect,
            self.beat,
            self.beat,
            self.restart,
            self.unregister,
            self.silence,
            self.fail_over,
            self.balance,
        ]

    def do(self, result: Result[object]) -> None:
        self.cluster.do(result)

    def some(self) -> list[int]:
        return self.random.sample(BROKERS, self.random.randint(1, 4))

    def topic(self) -> str | None:
        names = list(self.cluster.state.image.topics.by_name)
        return self.random.choice(names) if names else None

    def create(self) -> None:
        self.topics += 1
        replicas = self.some()
        self.cluster.create(
            f"t{self.topics}",
            replicas,
            replicas[::-1],
            min_insync_replicas=str(self.random.randint(1, 3)),
        )

    def delete(self) -> None:
        name = self.topic()
        if name is not None and self.random.random() < 0.3:
            self.do(delete_topics(self.cluster.state, DeleteTopicsRequest(topic_names=[name], timeout_ms=1), 5))

    def grow(self) -> None:
        name = self.topic()
        if name is not None:
            count = len(self.cluster.topic(name).partitions) + 1
            wish = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
            request = CreatePartitionsRequest(topics=[wish], timeout_ms=1, validate_only=False)
            self.do(create_partitions(self.cluster.state, request))

    def propose(self) -> None:
        name = self.topic()
        if name is None:
            return
        partition = self.cluster.partition(name)
        leader = self.cluster.state.image.brokers.by_id.get(partition.leader)
        if leader is None:
            return
        isr = self.proposed = [r for r in partition.replicas if r == leader.id or self.random.random() < 0.7]
        proposal = AlterPartitionRequest.PartitionData(
            partition_index=0,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr=isr,
        )
        topic = AlterPartitionRequest.TopicData(topic_id=self.cluster.topic(name).id, partitions=[proposal])
        request = AlterPartitionRequest(broker_id=leader.id, broker_epoch=leader.epoch, topics=[topic])
        self.do(alter_partition(self.cluster.state, request, 2))

    def reassign(self) -> None:
        name = self.topic()
        if name is not None:
            target = None if self.random.random() < 0.2 else self.some()
            kind = AlterPartitionReassignmentsRequest
            wish = kind.ReassignablePartition(partition_index=0, replicas=target)
            request = kind(topics=[kind.ReassignableTopic(name=name, partitions=[wish])])
            self.do(alter_partition_reassignments(self.cluster.state, request))

    def elect(self) -> None:
        kind = PREFERRED if self.random.random() < 0.9 else UNCLEAN
        self.do(elect_leaders(self.cluster.state, ElectLeadersRequest(election_type=kind, topic_partitions=None)))

    def beat(self) -> None:
        broker_id = self.random.choice(BROKERS)
        if broker_id in self.cluster.state.image.brokers.by_id:
            self.cluster.beat(
                broker_id,
                want_fence=self.random.random() < 0.3,
                want_shut_down=self.random.random() < 0.2,
                offline_log_dirs=self.random.choice([[], [], [directory(broker_id)]]),
            )

    def restart(self) -> None:
        broker_id = self.random.choice(BROKERS)
        known = self.cluster.state.image.brokers.by_id.get(broker_id)
        self.incarnations += 1
        self.cluster.now_ms += 9_001  # whoever was there is not there any longer
        self.cluster.register(
            broker_id,
            number=self.incarnations % 256,
            previous_broker_epoch=known.epoch if known is not None and self.random.random() < 0.5 else -1,
            log_dirs=[directory(broker_id), directory(broker_id, 1)],
        )

    def unregister(self) -> None:
        if self.random.random() < 0.2:
            request = UnregisterBrokerRequest(broker_id=self.random.choice(BROKERS))
            self.do(unregister_broker(self.cluster.state, request))

    def silence(self) -> None:
        self.cluster.now_ms += self.random.choice([10, 9_001])
        self.do(fence_stale_broker(self.cluster.state, self.cluster.now_ms))

    def fail_over(self) -> None:
        self.cluster.fail_over()

    def balance(self) -> None:
        self.do(balance_leaders(self.cluster.state))

    def run(self, count: int) -> None:
        for _ in range(count):
            before, self.proposed = self.partitions(), []
            with contextlib.suppress(KafkaError):
                self.random.choice(self.steps)()
            self.check(before)

    def partitions(self) -> dict[tuple[bytes, int], Partition]:
        return {(topic.id, id): p for topic, id, p in self.cluster.state.image.topics.all_partitions()}

    def check(self, before: dict[tuple[bytes, int], Partition]) -> None:
        image = self.cluster.state.image
        for key, partition in self.partitions().items():
            assert set(partition.isr) <= set(partition.replicas), partition
            assert not set(partition.isr) & set(partition.elr), partition
            assert set(partition.elr) <= set(partition.replicas), partition
            assert len(partition.directories) == len(partition.replicas)
            assert not set(partition.adding_replicas) & set(partition.removing_replicas)
            if partition.leader != NO_LEADER:
                assert partition.leader in partition.isr, partition
                assert image.brokers.is_active(partition.leader), partition
            if key in before and before[key] != partition:
                self.check_change(before[key], partition)
        assert self.has_elr or not any(partition.elr for partition in self.partitions().values())
        assert contents(self.cluster.state.index) == contents(PartitionIndex(image))
        assert self.cluster.state.sessions.by_id.keys() == image.brokers.by_id.keys()

    def check_change(self, old: Partition, new: Partition) -> None:
        assert new.partition_epoch > old.partition_epoch
        assert new.leader_epoch >= old.leader_epoch
        if new.leader not in (old.leader, NO_LEADER):
            assert new.leader_epoch > old.leader_epoch
            # Nobody leads who may lack committed records, unless the election says that it was unclean.
            trusted = (*old.isr, *old.elr, *self.proposed)
            assert new.leader in trusted or new.leader_recovery_state == 1, (old, new)


@pytest.mark.parametrize("seed", range(40))
def test_what_must_hold_holds_after_every_step(seed: int) -> None:
    history = History(seed)
    history.run(120)
    image = history.cluster.state.image
    delta = MetadataDelta(EMPTY)
    for record in snapshot_records(image):
        delta.replay(decode_record(encode_record(record)))
    assert delta.apply(image.offset, image.epoch, image.timestamp_ms) == image
