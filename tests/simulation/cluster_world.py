"""A whole cluster in one seed: a quorum of controllers, brokers, producers, an administrator, and all that goes wrong.

Beside what holds for brokers under one controller (world.py) all that metadata_checks.py says is checked, and that
nobody is elected to lead a partition but from its ISR and ELR. When the faults are over somebody leads the quorum,
everybody has read all, and every operation of the administrator ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ottla.cluster.image import MetadataImage, Partition
from ottla.server.controller_calls import CALLS
from ottla.wire.errors import KafkaError
from ottla.wire.schema import Request, Response
from tests.cluster.controller.small_cluster import incarnation
from tests.simulation.administrator import PLACE, Administrator
from tests.simulation.broker import Done, SimulatedBroker, Timing
from tests.simulation.cluster_node import ClusterNode
from tests.simulation.controller import TOPIC, WhoMayLead
from tests.simulation.metadata_checks import MetadataChecks
from tests.simulation.quorum_replica import QuorumReplica, QuorumSetup
from tests.simulation.world import Faults, World
from tests.storage.fake_disk import PowerCut

# A cut in the middle of what a node does comes within so many changes of its disk.
CHANGES_TO_A_CUT_MAX = 12


class NothingPromised(BaseException):
    """The last who may lead has ended uncleanly, by a decision that was not committed yet when it did: Kafka promises
    nothing then (KIP-966), and neither does the rest of this run. No `except Exception` of the code may catch this."""


@dataclass
class ClusterFaults(Faults):
    """Chances in a thousand, of one node in about 20 ms, or of all of them for the last three."""

    cut_within: int = 0
    assassination: int = 0
    operation: int = 0
    reassignment: int = 0
    reconfiguration: int = 0


class CommittedPartition(WhoMayLead):
    """As the committed records say."""

    def __init__(self) -> None:
        super().__init__()
        self.known: Partition | None = None

    @property
    def partition(self) -> Partition:
        assert self.known is not None, "the topic has been made"
        return self.known


class ClusterWorld(World):
    controller: CommittedPartition
    brokers: dict[int, ClusterNode]

    def __init__(self, seed: int, timing: Timing, setup: QuorumSetup, *, controllers: int, brokers: range) -> None:
        super().__init__(seed, timing)
        self.setup = setup
        self.controller = CommittedPartition()
        self.checks = MetadataChecks(self.counts, self._committed)
        ids = {*range(1, controllers + 1), *brokers}
        self.nodes = {
            id: ClusterNode(id, self, self.dice, is_broker=id in brokers, is_controller=id <= controllers)
            for id in sorted(ids)
        }
        self.brokers = {id: self.nodes[id] for id in brokers}
        self.administrator = Administrator(self)
        for node in self.nodes.values():
            self._start(node)
        self.run_until(lambda: all(broker.is_serving for broker in self.brokers.values()))
        self.administrator.create(TOPIC, self.broker_ids[:3], min_insync_replicas="2")
        self.run_until(lambda: self.controller.known is not None and self.administrator.is_idle)
        self._produce()

    # What nodes ask of the world

    def send(self, node: ClusterNode, target: int, request: Request, done: Callable[[Response], None]) -> None:
        number, asked, version = node.number, self.nodes[target], type(request).versions.high
        data = request.encode(version)

        def answered(response: Response) -> None:
            answer = response.encode(version)
            self._answer(target, node, number, lambda: done(type(response).decode(answer, version)))

        def arrive() -> None:
            self._at(asked, asked.number, lambda: asked.replica.receive(type(request).decode(data, version), answered))

        self.network.send(node.id, target, arrive)

    def send_to_controller(self, node: ClusterNode, target: int, request: Request, done: Done) -> None:
        number, asked = node.number, self.nodes[target]

        def answered(response: Any, error: KafkaError | None) -> None:
            if error is None:
                self._answer(target, node, number, lambda: done(response))

        def arrive() -> None:
            if node.number == number and node.is_up:  # its connection ends with it
                self._at(asked, asked.number, lambda: asked.replica.control(request, answered))

        self.network.send(node.id, target, arrive)

    def _answer(self, source: int, node: ClusterNode, number: int, action: Callable[[], None]) -> None:
        self.network.send(source, node.id, lambda: self._at(node, number, action))

    def stopped(self, node: ClusterNode) -> None:
        self._start_later(node)

    # What the administrator asks of it

    @property
    def image(self) -> MetadataImage:
        return self.checks.image

    @property
    def broker_ids(self) -> list[int]:
        return list(self.brokers)

    @property
    def controller_ids(self) -> list[int]:
        return [node.id for node in self.nodes.values() if node.is_controller]

    @property
    def voter_ids(self) -> list[int]:
        active = self.active
        return self.controller_ids if active is None else list(active.replica.raft.voters.ids)

    def administer(self, request: Request, done: Callable[[Any], None]) -> None:
        asked = self.dice.choice(list(self.nodes.values()))
        leader_id = asked.replica.raft.leader_id if asked.is_up else None
        if leader_id is None:
            return
        node = self.nodes[leader_id]

        def answered(response: Any, error: KafkaError | None = None) -> None:
            refused = response if error is None or error.code.retriable else error
            self.network.send(node.id, PLACE, lambda: done(refused))

        def arrive() -> None:
            if type(request) in CALLS:
                node.replica.control(request, answered)
            else:
                node.replica.receive(request, answered)

        self.network.send(PLACE, node.id, lambda: self._at(node, node.number, arrive))

    def after(self, delay_ms: int, action: Callable[[], None]) -> None:
        self.network.later(delay_ms, action)

    # Lives

    @property
    def active(self) -> ClusterNode | None:
        """The active controller of the latest epoch."""
        active = [node for node in self.nodes.values() if node.is_up and node.replica.is_active]
        return max(active, key=lambda node: node.replica.raft.epoch, default=None)

    def _everybody(self) -> Iterable[ClusterNode]:
        return self.nodes.values()

    def _start(self, broker: SimulatedBroker) -> None:
        self._surviving(self._node(broker), self._node(broker).start)

    def _node(self, broker: SimulatedBroker) -> ClusterNode:
        return self.nodes[broker.id]

    def _at(self, broker: SimulatedBroker, number: int, action: Callable[[], None]) -> None:
        self._surviving(self._node(broker), lambda: super(ClusterWorld, self)._at(broker, number, action))

    def _surviving(self, node: ClusterNode, action: Callable[[], None]) -> None:
        try:
            action()
        except PowerCut:
            self.counts["power cuts within"] += 1
            self.crash(node, is_power_cut=True)

    def _happened(self, broker: SimulatedBroker) -> None:
        node = self._node(broker)
        if node.is_up:
            node.settle()
            super()._happened(node)

    # Faults

    def _trouble(self, broker: SimulatedBroker, faults: Faults) -> None:
        assert isinstance(faults, ClusterFaults)
        node = self._node(broker)
        if node.is_broker:
            if self._happens(faults.flush) and node.is_serving:
                self._surviving(node, node.flush)
            if not self.controller.may_end_uncleanly(node.id):
                faults = ClusterFaults(pause=faults.pause, stop=faults.stop)
        if self._happens(faults.pause):
            self.counts["pauses"] += 1
            node.paused_until_ms = self.now_ms() + self.dice.randrange(3 * self.timing.session_ms)
        if not node.is_up:
            return
        is_target = self.active is node and self._happens(faults.assassination)
        if self._happens(faults.cut_within) or (is_target and self.dice.randrange(2)):
            self._doubt(node)
            node.disk.crash_after(self.dice.randint(1, CHANGES_TO_A_CUT_MAX))
        elif is_target or self._happens(faults.power_cut):
            self.crash(node, is_power_cut=True)
        elif self._happens(faults.kill):
            self.crash(node, is_power_cut=False)
        elif self._happens(faults.stop) and (node.epoch >= 0 or not node.is_broker) and not node.is_leaving:
            self.counts["clean stops"] += 1
            node.leave()

    def _doubt(self, node: ClusterNode) -> None:
        if node.is_broker:
            self.controller.in_doubt.add(node.id)

    def crash(self, broker: SimulatedBroker, *, is_power_cut: bool) -> None:
        node = self._node(broker)
        store = node.replica.store
        is_behind = store.log.recovery_point < store.log.end_offset
        self.counts["power cuts with unsynced metadata"] += is_power_cut and is_behind
        self.counts["controllers lost"] += node.replica.is_active
        doubted = set(self.controller.in_doubt)
        super().crash(node, is_power_cut=is_power_cut)
        if not node.is_broker:
            self.controller.in_doubt = doubted

    def trouble(self, duration_ms: int, faults: Faults) -> None:
        assert isinstance(faults, ClusterFaults)
        self._operate(faults, self.now_ms() + duration_ms)
        super().trouble(duration_ms, faults)

    def _operate(self, faults: ClusterFaults, end_ms: int) -> None:
        """The administrator's work, as long as there is trouble."""
        if self.now_ms() >= end_ms:
            return
        if self.administrator.is_idle:
            if self._happens(faults.reassignment):
                self.administrator.reassign()
            elif self._happens(faults.reconfiguration):
                self.administrator.change_voters()
            elif self._happens(faults.operation):
                self.administrator.do_something()
        self.network.later(20, lambda: self._operate(faults, end_ms))

    def _balance(self) -> None:
        self.administrator.elect()

    def _places(self) -> list[int]:
        return list(self.nodes)

    # What must hold

    def _committed(self, before: MetadataImage, image: MetadataImage) -> None:
        """Records are committed that nobody has shown before."""
        doubted = set(self.controller.in_doubt)
        for id in list(self.controller.in_doubt):
            known = image.brokers.by_id.get(id)
            node = self.nodes[id]
            is_this_life = known is not None and known.incarnation_id == incarnation(id, node.number)
            if is_this_life and node.is_up and node.disk._cut_at is None:
                self.controller.in_doubt.discard(id)
        topic = image.topics.by_name.get(TOPIC)
        if topic is None:
            return
        old, new = self.controller.known, topic.partitions[0]
        self.controller.known = new
        if old is not None and old != new:
            if not {*new.isr, *new.elr} and {*old.isr, *old.elr} <= doubted:
                raise NothingPromised(f"{new}")
            self._check_change(old, new)
        self._check_eligible()

    def _check_change(self, old: Partition, new: Partition) -> None:
        assert new.partition_epoch > old.partition_epoch, (old, new)
        assert new.leader_epoch >= old.leader_epoch, (old, new)
        assert new.leader_recovery_state == 0, f"an unclean election: {new}"
        self.counts["ISR changes"] += old.isr != new.isr
        self.counts["elections"] += old.leader_epoch != new.leader_epoch and new.leader >= 0
        was_moving, is_moving = (bool(one.adding_replicas or one.removing_replicas) for one in (old, new))
        self.counts["reassignments"] += was_moving and not is_moving and old.replicas != new.replicas
        if new.leader not in (old.leader, -1):
            assert new.leader_epoch > old.leader_epoch, (old, new)
            # An ISR that its leader proposed may complete a move, and another of that ISR leads then.
            proposed = new.isr if was_moving and not is_moving else ()
            assert new.leader in (*old.isr, *old.elr, *proposed), f"{new.leader} leads after {old}"
        assert {*new.isr, *new.elr}, f"nobody may lead any more: {new} after {old}"

    def check_logs(self) -> None:
        super().check_logs()
        self.checks.check_logs(self._replicas_up())

    def _replicas_up(self) -> list[QuorumReplica]:
        return [node.replica for node in self.nodes.values() if node.is_up]

    def _is_settled(self) -> bool:
        if not super()._is_settled() or self.active is None or not self.administrator.is_idle:
            return False
        partition = self.controller.partition
        if partition.adding_replicas or partition.removing_replicas:
            return False
        return all(node.image.offset == self.image.offset for node in self.nodes.values())

    def describe(self) -> str:
        known = self.controller.known
        return "\n".join([f"{known}", f"in doubt {self.controller.in_doubt}", *map(repr, self.nodes.values())])
