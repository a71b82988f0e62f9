"""Keeps the ISRs of the partitions led here: followers' fetches come in, proposals go to the controller (KIP-497).

The rules are in `ottla.cluster.in_sync_replicas`; here is who calls them when. Proposals of one moment share a request.
One without an answer is made again until there is one: the controller may have taken it, and whoever it adds counts for
the high watermark meanwhile. One that is out of date counts until the image says what holds. Only where nothing was
taken for certain is it forgotten; the next look, twice in `replica.lag.time.max.ms`, may bring another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import trio

from ottla.cluster.image import MetadataImage
from ottla.cluster.image import Partition as PlacedPartition
from ottla.cluster.in_sync_replicas import UNKNOWN, InSyncReplicas, Proposal
from ottla.server.controller_channel import ControllerChannel
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, AlterPartitionResponse

if TYPE_CHECKING:
    from ottla.server.broker import Broker

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
NOT_TAKEN = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
# Somebody has decided otherwise, perhaps by an earlier attempt of ours: the image will say.
OUT_OF_DATE = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.NEW_LEADER_ELECTED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class _Proposed(NamedTuple):
    partition: Partition
    in_sync: InSyncReplicas
    proposal: Proposal
    leader_epoch: int
    recovery_state: int


class InSyncKeeping:
    def __init__(
        self,
        broker: Broker,
        channel: ControllerChannel,
        broker_epoch: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        self._broker = broker
        self._channel = channel
        self._broker_epoch = broker_epoch
        self._now_ms = now_ms
        self._image: MetadataImage | None = None
        self._active: dict[int, int] = {}
        self._min_isrs: dict[str, int] = {}
        self._proposals: list[_Proposed] = []
        self._is_wanted = trio.Event()

    # What the image says

    def lead(self, partition: Partition, placed: PlacedPartition) -> None:
        """A leader begins, or goes on in a new epoch."""
        if len(placed.replicas) == 1 and not partition.in_sync:
            return
        partition.in_sync = InSyncReplicas(
            self._broker.config.node_id,
            placed.replicas,
            placed.isr,
            placed.partition_epoch,
            epoch_start_offset=partition.log.end_offset,
            now_ms=self._now_ms(),
        )
        partition.committed_end = self._committed_end

    def changed(self, partition: Partition, placed: PlacedPartition) -> None:
        """In the same epoch: replicas may have been added or taken away, or the ISR is another."""
        if partition.in_sync is None:
            self.lead(partition, placed)
        else:
            partition.in_sync.changed(placed.replicas, placed.isr, placed.partition_epoch)
        partition.update_high_watermark(0)

    # Followers

    def fetched(
        self,
        partition: Partition,
        replica_id: int,
        offset: int,
        broker_epoch: int,
        *,
        start_offset: int = UNKNOWN,
        knows_epoch: bool = False,
    ) -> None:
        """A follower reads from here on.

        NOT_LEADER_OR_FOLLOWER: it is none of this partition's (class 10), or an earlier life of one (KIP-903). One
        that `knows_epoch` may have been made a replica before we have heard of it: UNKNOWN_LEADER_EPOCH, ask again.
        """
        in_sync, now_ms = partition.in_sync, self._now_ms()
        if 0 <= broker_epoch < self._active_brokers().get(replica_id, broker_epoch):
            reason = f"epoch {broker_epoch} of broker {replica_id} is over"
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason)
        log_end = partition.log.end_offset
        end = min(offset, log_end)
        if in_sync is None or not in_sync.fetched(replica_id, end, log_end, broker_epoch, now_ms, start_offset):
            code = ErrorCode.UNKNOWN_LEADER_EPOCH if knows_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER
            raise KafkaError(code, f"broker {replica_id} has no replica of {partition}")
        partition.update_high_watermark(0)
        self._propose(partition, now_ms)

    def check_enough(self, partition: Partition) -> None:
        """Whether a batch for all replicas in sync may be taken."""
        in_sync = partition.in_sync
        if in_sync is not None and in_sync.is_under_min_isr(self._min_isr(partition.topic)):
            reason = f"{partition} has {len(in_sync.isr)} replicas in sync, min.insync.replicas wants more"
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, reason)

    def _committed_end(self, partition: Partition) -> int:
        in_sync = partition.in_sync
        assert in_sync is not None
        return in_sync.committed_end(
            partition.log.end_offset,
            self._active_brokers(),
            min_isr=self._min_isr(partition.topic),
            lag_ms=self._broker.config.replica_lag_time_max_ms,
            now_ms=self._now_ms(),
        )

    def _active_brokers(self) -> dict[int, int]:
        """The epochs of the brokers that the cluster counts on."""
        self._look_at_image()
        return self._active

    def _min_isr(self, topic: str) -> int:
        self._look_at_image()
        found = self._min_isrs.get(topic)
        if found is None:
            text = self._broker.image.topic_config(topic, "min.insync.replicas", self._broker.config.node_id)
            found = self._min_isrs[topic] = self._broker.config.min_insync_replicas if text is None else int(text)
        return found

    def _look_at_image(self) -> None:
        image = self._broker.image
        if image is not self._image:
            self._image = image
            self._min_isrs = {}
            self._active = {id: broker.epoch for id, broker in image.brokers.by_id.items() if broker.is_active}

    # Proposals

    def _propose(self, partition: Partition, now_ms: int) -> None:
        in_sync = partition.in_sync
        if in_sync is None:
            return
        proposal = in_sync.propose(
            partition.log.end_offset,
            partition.log.high_watermark,
            self._active_brokers(),
            lag_ms=self._broker.config.replica_lag_time_max_ms,
            now_ms=now_ms,
        )
        if proposal is None:
            return
        placed = self._broker.image.topics.partition_by_id(partition.topic_id, partition.index)
        recovery_state = 0 if placed is None else placed.leader_recovery_state
        if recovery_state and len(proposal.isr) > 1:
            recovery_state = 0  # whoever joins has what the leader has: it has recovered
        self._proposals.append(_Proposed(partition, in_sync, proposal, partition.leader_epoch, recovery_state))
        self._is_wanted.set()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look_for_laggards)
            nursery.start_soon(self._send)

    async def _look_for_laggards(self) -> None:
        while True:
            await trio.sleep(self._broker.config.replica_lag_time_max_ms / 2000)
            now_ms = self._now_ms()
            for partition in self._broker.partitions():
                if partition.in_sync is not None:
                    self._propose(partition, now_ms)

    async def _send(self) -> None:
        while True:
            await self._is_wanted.wait()
            self._is_wanted = trio.Event()
            proposed, self._proposals = self._proposals, []
            try:
                response = await self._channel.request(self._request(proposed))
            except KafkaError as error:
                log.warning("the controller did not take who is in sync: %s", error.message)
                undecided = proposed
            else:
                undecided = self._take(proposed, response)
                self._broker.end_pass()
            if undecided:
                await trio.sleep(RETRY_SECONDS)
                self._propose_again(undecided)

    def _propose_again(self, undecided: list[_Proposed]) -> None:
        for one in undecided:
            is_led = self._broker.led(one.partition.topic_id, one.partition.index) is one.partition
            if is_led and one.partition.in_sync is one.in_sync and one.in_sync.proposed is one.proposal:
                self._proposals.append(one)
                self._is_wanted.set()

    def _request(self, proposed: list[_Proposed]) -> AlterPartitionRequest:
        by_topic: dict[bytes, list[AlterPartitionRequest.PartitionData]] = {}
        for partition, _, proposal, leader_epoch, recovery_state in proposed:
            members = [
                AlterPartitionRequest.BrokerState(broker_id=id, broker_epoch=epoch)
                for id, epoch in zip(proposal.isr, proposal.broker_epochs, strict=True)
            ]
            by_topic.setdefault(partition.topic_id, []).append(
                AlterPartitionRequest.PartitionData(
                    partition_index=partition.index,
                    leader_epoch=leader_epoch,
                    new_isr_with_epochs=members,
                    leader_recovery_state=recovery_state,
                    partition_epoch=proposal.partition_epoch,
                )
            )
        return AlterPartitionRequest(
            broker_id=self._broker.config.node_id,
            broker_epoch=self._broker_epoch(),
            topics=[
                AlterPartitionRequest.TopicData(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in by_topic.items()
            ],
        )

    def _take(self, proposed: list[_Proposed], response: AlterPartitionResponse) -> list[_Proposed]:
        """Note what the controller says; return those of which nobody knows what became of them."""
        answers = {(topic.topic_id, one.partition_index): one for topic in response.topics for one in topic.partitions}
        undecided = []
        for one in proposed:
            partition = one.partition
            answer = answers.get((partition.topic_id, partition.index))
            if answer is not None and answer.error_code == ErrorCode.NONE:
                one.in_sync.accepted(one.proposal, answer.isr, answer.partition_epoch)
                partition.update_high_watermark(0)
            elif answer is not None and answer.error_code in NOT_TAKEN:
                one.in_sync.refused(one.proposal)
            elif answer is None or answer.error_code not in OUT_OF_DATE:
                undecided.append(one)
        return undecided
