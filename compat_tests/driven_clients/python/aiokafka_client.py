"""aiokafka in groups: the classic protocol, eager only, and static members. Its admin deletes no groups and no offsets.

A member lives in a loop of its own, in a thread; the driver's requests come in from outside.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata

from compat_tests.clients.aiokafka_face import Aiokafka, AiokafkaAdmin, check, received
from compat_tests.clients.records import SECONDS_MAX, Refused
from compat_tests.driven_clients.python.client import Client, Request
from compat_tests.driven_clients.python.events import (
    HEARTBEAT_MS,
    tell_assigned,
    tell_record,
    tell_revoked,
    tell_trouble,
)

POLL_MS = 50


def client(bootstrap: str) -> Client:
    return Client(Aiokafka(bootstrap), Admin(bootstrap), lambda request: Member(bootstrap, request))


class Admin(AiokafkaAdmin):
    def committed(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        places = [TopicPartition(topic, partition) for partition in partitions]
        found = self._asked(lambda client: client.list_consumer_group_offsets(group, partitions=places))
        return {place.partition: told.offset for place, told in found.items()}

    def describe_group(self, group: str) -> dict[str, object]:
        (response,) = self._asked(lambda client: client.describe_consumer_groups([group]))
        ((code, _, state, _, _, members, *_),) = response.groups
        check(code)
        return {"state": state, "members": len(members)}

    def list_groups(self) -> dict[str, dict[str, str]]:
        """It asks as brokers of years ago were asked: names, and nothing more."""
        return {name: {} for name, _ in self._asked(lambda client: client.list_consumer_groups())}


class Telling(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        tell_assigned(place.partition for place in assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        tell_revoked(place.partition for place in revoked)


class Member:
    def __init__(self, bootstrap: str, request: Request) -> None:
        self._topic: str = request["topic"]
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._consumer: AIOKafkaConsumer = self._done(self._joined(bootstrap, request))
        self._polling = asyncio.run_coroutine_threadsafe(self._poll(), self._loop)

    def _done(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS_MAX)
        except KafkaError as error:
            raise Refused(getattr(error, "errno", -1), str(error)) from error

    async def _joined(self, bootstrap: str, request: Request) -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=request["group"],
            group_instance_id=request["instance_id"] or None,
            partition_assignment_strategy=(RangePartitionAssignor,),
            session_timeout_ms=request["session_timeout_ms"],
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        consumer.subscribe([self._topic], listener=Telling())
        await consumer.start()
        return consumer

    async def _poll(self) -> None:
        while True:
            try:
                batches = await self._consumer.getmany(timeout_ms=POLL_MS)
            except KafkaError as error:
                tell_trouble(max(getattr(error, "errno", 0), 0), repr(error))
                continue
            for batch in batches.values():
                for record in batch:
                    tell_record(received(record))

    def commit(self, partition: int, offset: int) -> None:
        place = TopicPartition(self._topic, partition)
        self._done(self._consumer.commit({place: OffsetAndMetadata(offset, "")}))

    def seek(self, partition: int, offset: int) -> None:
        self._loop.call_soon_threadsafe(self._consumer.seek, TopicPartition(self._topic, partition), offset)

    def leave(self) -> None:
        """What it owned goes without a word of its own."""
        owned = [place.partition for place in self._consumer.assignment()]
        self._polling.cancel()
        self._done(self._consumer.stop())
        tell_revoked(owned)
