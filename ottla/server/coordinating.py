"""Drives the group coordinator: a shard for every partition of `__consumer_offsets` that is led here.

Follows the quorum behind the replicas: a partition that came to be led is loaded, in turns with everything else; one
that is not led any more tells its shard by itself. One task watches the next deadline of all shards. The clock does not
jump: setting the machine's time must not end every session.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections import deque
from collections.abc import Callable

import trio

from ottla.cluster.image import Change, ConfigType, MetadataImage
from ottla.coordinators.consumer_group.surroundings import ConsumerTimes
from ottla.coordinators.contract import RequestContext
from ottla.coordinators.java_strings import group_partition
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import StoredRecordError
from ottla.server.broker import Broker
from ottla.server.coordinator_views import ImageTopics, broker_times, consumer_times, group_settings
from ottla.server.joining_together import JoinsTogether
from ottla.server.led_shard import Call, LedShard, Tell
from ottla.server.partition import Partition
from ottla.server.shard_loading import load
from ottla.wire.compression import Codec
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

log = logging.getLogger(__name__)

CONSUMER_OFFSETS = "__consumer_offsets"


class GroupCoordinator:
    def __init__(
        self,
        broker: Broker,
        now_ms: Callable[[], int],
        new_uuid: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        self.settings = group_settings(broker.config)
        self._broker = broker
        self._now_ms = now_ms
        self._new_uuid = new_uuid
        self._topics = ImageTopics(broker.image)
        self._times_config, self._times = broker.config, broker_times(broker.config)
        self._shards: dict[int, LedShard] = {}
        self._to_load: deque[LedShard] = deque()
        self._is_started = False
        self._joins = JoinsTogether(self._ask, broker.after_look)
        self._woken = trio.Event()
        # What the task waits for; an earlier deadline wakes it.
        self._next_ms = math.inf

    # Who is asked

    def ask(self, group_id: str, call: Call, tell: Tell) -> None:
        """Ask the shard that keeps a group; the response, or the KafkaError, is told, at once if it is there.

        NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS is raised where there is nobody to ask.
        """
        self._joins.let_in(group_id)
        self._ask(group_id, call, tell)

    def ask_to_join(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, tell: Tell) -> None:
        """The same for a member that joins: it is told together with those who come together with it."""
        self._shard_of(request.group_id)
        self._joins.hold(request, context, tell)

    def _ask(self, group_id: str, call: Call, tell: Tell) -> None:
        shard = self._shard_of(group_id)
        shard.ask(call, tell)
        deadline_ms = shard.next_deadline()
        if deadline_ms is None or deadline_ms >= self._next_ms:
            return  # the task wakes early enough
        if deadline_ms <= self._now_ms():
            self._advance(shard)  # what was asked for may be due at once, such as a rebalance without delay
        self._touched(shard)

    def place_of(self, group_id: str) -> int | None:
        """The partition that keeps a group; None as long as there is no topic."""
        topic = self._broker.image.topics.by_name.get(CONSUMER_OFFSETS)
        return None if topic is None else group_partition(group_id, len(topic.partitions))

    def _shard_of(self, group_id: str) -> LedShard:
        index = self.place_of(group_id)
        found = None if index is None else self._shards.get(index)
        if found is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR, f"{group_id} is coordinated elsewhere")
        return self._loaded(found)

    def shards(self) -> list[LedShard]:
        """All that are here; COORDINATOR_LOAD_IN_PROGRESS as long as one of them is being loaded."""
        self._joins.let_all_in()
        return [self._loaded(shard) for shard in self._shards.values()]

    def _loaded(self, shard: LedShard) -> LedShard:
        if not shard.is_loaded:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"{shard.partition} is being read")
        return shard

    def _touched(self, shard: LedShard) -> None:
        """Something was asked of a shard: it may want to be called earlier than before."""
        deadline_ms = shard.next_deadline()
        if deadline_ms is not None and deadline_ms < self._next_ms:
            self._woken.set()

    # Following the quorum

    def start(self, image: MetadataImage) -> None:
        """Logs are loaded, and partitions led."""
        self._is_started = True
        self._topics_changed(image, [])
        self._lead(image)

    def committed(self, change: Change) -> None:
        if not self._is_started:
            return
        if "configs" in change.delta.changed_parts:
            self._reconfigure()
        topics = change.delta.topics
        if topics.changed or topics.removed:
            self._topics_changed(change.image, [(topic.name, topic.id) for topic in topics.removed.values()])
            self._lead(change.image)

    def activated(self, epoch: int) -> None: ...

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None: ...

    def _reconfigure(self) -> None:
        self.settings = group_settings(self._broker.config)
        for shard in self._shards.values():
            shard.shard.state.settings = self.settings

    def _topics_changed(self, image: MetadataImage, removed: list[tuple[str, bytes]]) -> None:
        self._topics = ImageTopics(image)
        for shard in list(self._shards.values()):
            outcome = shard.shard.topics_changed(self._topics, removed if shard.is_loaded else ())
            shard.do(outcome)
            self._touched(shard)

    def _lead(self, image: MetadataImage) -> None:
        """Have a shard for each partition that is led here."""
        topic = image.topics.by_name.get(CONSUMER_OFFSETS)
        if topic is None:
            return
        for index in topic.partitions:
            partition = self._broker.led(topic.id, index)
            if partition is not None and index not in self._shards:
                self._open(index, partition)

    def _open(self, index: int, partition: Partition) -> None:
        shard = LedShard(
            partition,
            GroupShard(self.settings, self._topics, self._new_uuid, self._times_of),
            self._now_ms,
            codec=Codec(self._broker.config.offsets_topic_compression_codec),
            commit_timeout_ms=self._broker.config.offsets_commit_timeout_ms,
            flush_soon=self._broker.flush_soon,
            when_gone=lambda gone: self._gone(index, gone),
        )
        self._shards[index] = shard
        if partition.log.start_offset == partition.log.end_offset:
            self._begin(shard)  # a new topic is ready as soon as it is there
        else:
            self._to_load.append(shard)
            self._woken.set()

    def _times_of(self, group_id: str) -> ConsumerTimes:
        """What holds for a group. It is asked with every heartbeat, and nearly always the broker's own."""
        config, image = self._broker.config, self._broker.image
        if image.config_overrides(ConfigType.GROUP, group_id):
            return consumer_times(image, config, group_id)
        if self._times_config is not config:  # another configuration is another object
            self._times_config, self._times = config, broker_times(config)
        return self._times

    def _gone(self, index: int, gone: LedShard) -> None:
        if self._shards.get(index) is gone:
            del self._shards[index]

    # Time

    async def run(self) -> None:
        while True:
            self._woken = trio.Event()
            while self._to_load:
                await self._load(self._to_load.popleft())
            self.advance()
            self._broker.end_pass()
            deadlines = (shard.next_deadline() for shard in self._shards.values() if shard.is_loaded)
            self._next_ms = min((deadline for deadline in deadlines if deadline is not None), default=math.inf)
            with trio.move_on_after(max(0, self._next_ms - self._now_ms()) / 1000):
                await self._woken.wait()
            await trio.lowlevel.checkpoint()  # a deadline that is due gives nobody else a turn

    def advance(self) -> None:
        """Do what is due by now."""
        for shard in list(self._shards.values()):
            if shard.is_loaded:
                self._advance(shard)

    def _advance(self, shard: LedShard) -> None:
        try:
            shard.give_up(self._now_ms())
            for outcome in shard.shard.advance(self._now_ms()):
                shard.do(outcome)
        except Exception:
            log.exception("%s: a deadline was not dealt with", shard.partition)

    async def _load(self, shard: LedShard) -> None:
        try:
            for _ in load(shard.partition, shard.shard):
                await trio.lowlevel.checkpoint()
                if shard.is_gone:
                    return
        except (KafkaError, StoredRecordError) as error:
            log.error("%s cannot be read, its groups have no coordinator: %s", shard.partition, error)
            shard.leave(KafkaError(ErrorCode.NOT_COORDINATOR, "the groups cannot be read"))
            return
        self._begin(shard)

    def _begin(self, shard: LedShard) -> None:
        shard.is_loaded = True
        for outcome in shard.shard.loaded(self._now_ms()):
            shard.do(outcome)
        self._touched(shard)

    def stop(self) -> None:
        """The broker stops: nobody is left waiting, and members look for the coordinator elsewhere."""
        self._joins.let_all_in()
        for shard in list(self._shards.values()):
            shard.leave(KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops"))
