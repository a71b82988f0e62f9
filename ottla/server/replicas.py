"""The logs of this broker follow the metadata image: made, given up, deleted and reconfigured as it says.

A topic's logs are made when its partitions name this broker, and renamed, to be removed later, when they no longer do.
Where a replica lies is the controller's to know: it is told of a directory that was chosen here.
What was found on the disk at start and belongs to no partition of the image is stray: `stray_id` has it set aside under
another name before logs are loaded, for a person to look at. A disk that fails takes its own partitions offline; it
must not keep the broker from following.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable

from ottla.cluster.features import DIRECTORY_ASSIGNMENT_SINCE
from ottla.cluster.image import ALL_BROKERS, NO_LEADER, Change, ConfigType, MetadataImage, Topic
from ottla.cluster.image import Partition as PlacedPartition
from ottla.cluster.image.directory_ids import is_reserved
from ottla.config.dynamic import surviving
from ottla.server.broker import Broker
from ottla.server.directory_assignments import DirectoryAssignments
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.partition import Partition
from ottla.server.random_ids import random_id
from ottla.server.replica_fetching import FollowingReplica, ReplicaFetching
from ottla.server.replica_making import ReplicaMaking
from ottla.storage import future_logs
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

# So many replicas of one change are made before anybody hears of it; the rest takes its time.
MADE_AT_ONCE_MAX = 64

ConfigOf = Callable[[MetadataImage, str], LogConfig]


class Replicas:
    """Follows the quorum for the broker."""

    def __init__(
        self,
        broker: Broker,
        node_id: int,
        directories: LogDirectories,
        config_of: ConfigOf,
        moves: DirectoryMoves,
        assignments: DirectoryAssignments,
        fetching: ReplicaFetching,
    ) -> None:
        self._broker = broker
        self._node_id = node_id
        self._directories = directories
        self._config_of = config_of
        self._moves = moves
        self._assignments = assignments
        self._fetching = fetching
        self.making = ReplicaMaking(directories, self._wanted_in, self._make_prepared)
        self._static_config = broker.config
        self._is_started = False

    def committed(self, change: Change) -> None:
        image = change.image
        self._broker.image = image
        if not self._is_started:
            return
        if "configs" in change.delta.changed_parts:
            self.reconfigure(image)
        topics = change.delta.topics
        self._remove([(topic, index) for topic in topics.removed.values() for index in topic.partitions])
        new_count = 0
        for topic_id, touched in topics.touched.items():
            changed = image.topics.by_id.get(topic_id)
            for index in () if changed is None else touched:
                assert changed is not None
                is_new = change.delta.image.topics.partition_by_id(topic_id, index) is None
                new_count += is_new
                if (changed.name, index) in self.making or (is_new and new_count > MADE_AT_ONCE_MAX):
                    self.making.soon((changed.name, index), topic_id)
                else:
                    self._follow(image, changed, index, is_new=is_new)

    def stray_id(self, image: MetadataImage, key: TopicPartition, topic_id: bytes | None) -> str | None:
        """For a log that was found and belongs to no partition of this broker, a name to set it aside under."""
        topic = image.topics.by_name.get(key[0])
        wanted = None if topic is None else topic.partitions.get(key[1])
        is_ours = topic is not None and topic.id == topic_id and wanted is not None and self._node_id in wanted.replicas
        return None if is_ours else secrets.token_hex(16)

    def start(self, image: MetadataImage) -> None:
        """The logs are loaded: lead what the image says is led here."""
        self._is_started = True
        self._broker.image = image
        self.reconfigure(image)
        for topic, index, _ in image.topics.all_partitions():
            self._follow(image, topic, index, is_new=False)

    def activated(self, epoch: int) -> None: ...

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None: ...

    def _wanted_in(self, key: TopicPartition, topic_id: bytes) -> bytes | None:
        """For a replica that was to be made later. LookupError: it is not wanted any more, or is here."""
        topic = self._broker.image.topics.by_id[topic_id]
        wanted = topic.partitions[key[1]]
        if self._node_id not in wanted.replicas or self._directories.directory_of(key) is not None:
            self._follow(self._broker.image, topic, key[1], is_new=True)
            raise LookupError(key)
        return self._wanted_directory(key, wanted)

    def _make_prepared(self, key: TopicPartition, directory_id: bytes) -> None:
        """Its directory is there by now. Where it is not wanted any more, it goes the way of a deleted one."""
        image = self._broker.image
        topic = image.topics.by_name.get(key[0])
        if topic is not None and key[1] in topic.partitions:
            self._follow(image, topic, key[1], is_new=True, prepared_in=directory_id)
            return
        for directory in self._directories.online:
            if directory.meta.directory_id == directory_id and key not in directory.hosted:
                directory.create(key, random_id(), LogConfig(), self._broker.now_ms(), is_prepared=True)
                directory.delete(key, secrets.token_hex(16), self._broker.now_ms())

    def _follow(
        self, image: MetadataImage, topic: Topic, index: int, *, is_new: bool, prepared_in: bytes | None = None
    ) -> None:
        wanted = topic.partitions.get(index)
        if wanted is None or self._node_id not in wanted.replicas:
            self._remove([(topic, index)])
            return
        key = (topic.name, index)
        is_led = wanted.leader == self._node_id
        if is_led:
            self._fetching.stop(key)
        else:
            if self._broker.resign(topic.name, topic.id, index) is not None:
                self._moves.pause(key)
            self._broker.followed.follow(key, wanted.leader_epoch)
        try:
            self._finish_interrupted_move(key, topic, wanted)
            found = self._directories.create(
                key,
                topic.id,
                self._config_of(image, topic.name),
                self._broker.now_ms(),
                is_new=is_new,
                directory_id=self._wanted_directory(key, wanted) if prepared_in is None else prepared_in,
                is_prepared=prepared_in is not None,
            )
        except KafkaError as error:
            log.error("%s-%d cannot be kept here: %s", topic.name, index, error.message)
            self._fetching.stop(key)
            return
        if is_led:
            self._lead(topic, index, found, wanted)
            self._broker.followed.forget(key)
        elif wanted.leader == NO_LEADER:
            self._fetching.stop(key)
            self._moves.pause(key)
        else:
            replica = FollowingReplica(topic.name, topic.id, index, found, wanted.leader, wanted.leader_epoch)
            self._fetching.follow(replica)
            self._moves.resume(self._fetching.replica_of(key) or replica)
        if image.metadata_version >= DIRECTORY_ASSIGNMENT_SINCE:
            self._tell_directory(key, topic, wanted)

    def _finish_interrupted_move(self, key: TopicPartition, topic: Topic, wanted: PlacedPartition) -> None:
        """A copy that was about to take over when the broker ended has nobody beside it, and the cluster knows."""
        if self._directories.directory_of(key) is not None or self._directories.offline:
            return
        for directory in self._directories.online:
            found = directory.future.get(key)
            is_told = directory.meta.directory_id == wanted.directory(self._node_id)
            if found is not None and found.topic_id == topic.id and is_told:
                future_logs.take_over(self._directories, directory, key)

    def _wanted_directory(self, key: TopicPartition, wanted: PlacedPartition) -> bytes | None:
        """Where a replica that is not there yet is to be made; None: anywhere."""
        directory_id = wanted.directory(self._node_id)
        if directory_id is None or is_reserved(directory_id):
            return self._moves.chosen(key)
        ours = [directory.meta.directory_id for directory in self._directories.directories]
        return directory_id if directory_id in ours else None

    def _tell_directory(self, key: TopicPartition, topic: Topic, wanted: PlacedPartition) -> None:
        directory = self._directories.directory_of(key)
        directory_id = None if directory is None else directory.meta.directory_id
        if directory_id is not None and directory_id != wanted.directory(self._node_id):
            self._assignments.soon(topic.id, key[1], directory_id)

    def _lead(self, topic: Topic, index: int, found: Log, wanted: PlacedPartition) -> None:
        known = self._broker.led(topic.id, index)
        if known is not None:
            if known.leader_epoch != wanted.leader_epoch:
                known.lead_in(wanted.leader_epoch)
                self._broker.in_sync.lead(known, wanted)
            self._broker.in_sync.changed(known, wanted)
            return
        partition = Partition(topic.name, topic.id, index, found, wanted.leader_epoch)
        self._broker.in_sync.lead(partition, wanted)
        partition.update_high_watermark(0)
        self._broker.lead(partition)
        self._moves.resume(partition)

    def _remove(self, replicas: Iterable[tuple[Topic, int]]) -> None:
        unique_ids: dict[TopicPartition, str] = {}
        for topic, index in replicas:
            key = (topic.name, index)
            self._fetching.stop(key)
            self._moves.forget(key)
            self._broker.resign(topic.name, topic.id, index)
            self._broker.followed.forget(key)
            directory = self._directories.directory_of(key)
            if directory is not None and directory.hosted[key].topic_id == topic.id:
                unique_ids[key] = secrets.token_hex(16)
        try:
            self._directories.delete_all(unique_ids, self._broker.now_ms())
        except KafkaError as error:
            (name, index), *others = unique_ids
            more = f" and {len(others)} others" if others else ""
            log.error("%s-%d%s cannot be deleted: %s", name, index, more, error.message)

    def reconfigure(self, image: MetadataImage) -> None:
        """Configurations have changed: the broker and every log get what holds for them now."""
        cluster = image.config_overrides(*ALL_BROKERS)
        own = image.config_overrides(ConfigType.BROKER, str(self._node_id))
        self._broker.config, problems = surviving(self._static_config, cluster, own)
        for problem in problems:
            log.warning("%s", problem)
        self._broker.throttles.configure(image)
        for partition in self._broker.partitions():
            config = self._config_of(image, partition.topic)
            if config != partition.log.config:
                partition.log.reconfigure(config)
