"""Replicas that the cluster wants here, made a few at a time: a topic of ten thousand partitions must not stop anybody.

What costs time is the disk: directories and topic ids have to be durable before a log takes data. That is done in a
worker thread for a slice of replicas together; the loop opens the logs. Until then such a partition is not led here,
and clients ask again, as they do in Kafka. Who follows the image decides what is wanted, before and after.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice

import trio

from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory, prepare
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

SLICE_SIZE = 128
# How long logs are opened before others get their turn. One at a time would leave a topic of thousands far behind a
# client that asks for it again and again: its turns take longer than ours.
TURN_SECONDS = 0.02

# The directory that a replica of this topic id is wanted in, by its id, or None for any. LookupError: it is not wanted.
WantedIn = Callable[[TopicPartition, bytes], bytes | None]
# Make the log and lead the partition, in the directory of this id, which is prepared.
Make = Callable[[TopicPartition, bytes], None]


class ReplicaMaking:
    def __init__(self, directories: LogDirectories, wanted_in: WantedIn, make: Make) -> None:
        self._directories = directories
        self._wanted_in = wanted_in
        self._make = make
        self._waiting: dict[TopicPartition, bytes] = {}
        self._preparing: frozenset[TopicPartition] = frozenset()
        self._is_wanted = trio.Event()

    def __contains__(self, key: TopicPartition) -> bool:
        """Whether a replica of this name is being made: nobody else may touch its directory."""
        return key in self._waiting or key in self._preparing

    def soon(self, key: TopicPartition, topic_id: bytes) -> None:
        self._waiting[key] = topic_id
        self._is_wanted.set()

    async def run(self) -> None:
        while True:
            await self._is_wanted.wait()
            await self._make_some()
            if not self._waiting:
                self._is_wanted = trio.Event()

    async def _make_some(self) -> None:
        taken = dict(islice(self._waiting.items(), SLICE_SIZE))
        for key in taken:
            del self._waiting[key]
        plan = self._plan(taken)
        self._preparing = frozenset(key for topic_ids in plan.values() for key in topic_ids)
        try:
            for directory, topic_ids in plan.items():
                await self._prepare(directory, topic_ids)
        finally:
            self._preparing = frozenset()
        began = trio.current_time()
        for directory, topic_ids in plan.items():
            for key, topic_id in topic_ids.items():
                self._finish(directory, key, topic_id)
                if trio.current_time() - began > TURN_SECONDS:
                    await trio.lowlevel.checkpoint()
                    began = trio.current_time()

    def _plan(self, taken: dict[TopicPartition, bytes]) -> dict[LogDirectory, dict[TopicPartition, bytes]]:
        """What goes where: to the directory asked for, or the one with the fewest replicas."""
        plan: dict[LogDirectory, dict[TopicPartition, bytes]] = {one: {} for one in self._directories.places()}
        for key, topic_id in taken.items():
            try:
                directory_id = self._wanted_in(key, topic_id)
            except LookupError:
                continue
            places = [one for one in plan if directory_id is None or one.meta.directory_id == directory_id]
            if not places:
                log.error("%s-%d cannot be made: its log directory is offline", *key)
                continue
            place = min(places, key=lambda one: len(one.hosted) + len(one.future) + len(plan[one]))
            plan[place][key] = topic_id
        return {place: topic_ids for place, topic_ids in plan.items() if topic_ids}

    async def _prepare(self, directory: LogDirectory, topic_ids: dict[TopicPartition, bytes]) -> None:
        try:
            await trio.to_thread.run_sync(prepare, directory.disk, directory.path, topic_ids)
        except OSError as error:
            topic_ids.clear()
            try:
                directory.failed(error)
            except KafkaError as failure:
                log.error("replicas cannot be made: %s", failure.message)

    def _finish(self, directory: LogDirectory, key: TopicPartition, topic_id: bytes) -> None:
        if key in self._waiting:
            return  # wanted anew, perhaps with another id: the next slice sees to it
        assert directory.meta.directory_id is not None, directory.path
        try:
            self._make(key, directory.meta.directory_id)
        except KafkaError as error:
            log.error("%s-%d cannot be made: %s", *key, error.message)
