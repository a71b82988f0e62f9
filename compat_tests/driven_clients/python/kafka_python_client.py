"""kafka-python in groups: the classic protocol, eager and cooperative, and static members."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import kafka
from kafka import errors
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata, TopicPartition

from compat_tests.clients.kafka_python_face import KafkaPython, KafkaPythonAdmin, received, refusals
from compat_tests.clients.records import Refused
from compat_tests.driven_clients.driver import COOPERATIVE, EAGER
from compat_tests.driven_clients.python.client import Client, Request
from compat_tests.driven_clients.python.events import (
    HEARTBEAT_MS,
    tell_assigned,
    tell_record,
    tell_revoked,
    tell_trouble,
)
from compat_tests.driven_clients.python.polled_member import POLL_SECONDS, PolledMember

ASSIGNORS = {EAGER: RangePartitionAssignor, COOPERATIVE: CooperativeStickyAssignor}
# After these it must not come back by itself.
FINAL = (errors.FencedInstanceIdError, errors.UnreleasedInstanceIdError)


def client(bootstrap: str) -> Client:
    return Client(KafkaPython(bootstrap), Admin(bootstrap), lambda request: Member(bootstrap, request))


class Admin(KafkaPythonAdmin):
    def committed(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        places = [TopicPartition(topic, partition) for partition in partitions]
        with refusals():
            found = self.client.list_group_offsets({group: places})[group]
        return {place.partition: told.offset for place, told in found.items()}

    def describe_group(self, group: str) -> dict[str, object]:
        with refusals():
            told = self.client.describe_groups([group])[group]
        assert told["error"] is None, told
        return {"state": told["group_state"], "members": len(told["members"])}

    def list_groups(self) -> dict[str, dict[str, str]]:
        with refusals():
            listed = self.client.list_groups()
        return {one["group_id"]: {"state": one["group_state"], "type": one["group_type"]} for one in listed}

    def delete_group(self, group: str) -> None:
        """Its answer is the name of an error's class."""
        with refusals():
            told = self.client.delete_groups([group])[group]
        if told != "OK":
            raise Refused(getattr(errors, told).errno, told)

    def set_committed(self, group: str, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition)
        with refusals():
            check(self.client.alter_group_offsets(group, {place: OffsetAndMetadata(offset, "", -1)})[place])

    def delete_committed(self, group: str, topic: str, partition: int) -> None:
        place = TopicPartition(topic, partition)
        with refusals():
            check(self.client.delete_group_offsets(group, [place])[place])


def check(error: type[KafkaError]) -> None:
    if error is not errors.NoError:
        raise Refused(error.errno, error.__name__)


class Telling(ConsumerRebalanceListener):  # type: ignore[misc]
    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        tell_assigned(place.partition for place in assigned)

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        tell_revoked(place.partition for place in revoked)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        tell_revoked(place.partition for place in lost)


class Member(PolledMember):
    def __init__(self, bootstrap: str, request: Request) -> None:
        super().__init__()
        self._topic: str = request["topic"]
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=request["group"],
            group_instance_id=request["instance_id"] or None,
            partition_assignment_strategy=(ASSIGNORS[request["protocol"]],),
            session_timeout_ms=request["session_timeout_ms"],
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._consumer.subscribe([self._topic], listener=Telling())
        # One that joins before it knows its topics joins twice, and where the second time outlasts a poll it forgets
        # what it was assigned. This makes it learn them.
        self._consumer.topics()
        self.start()

    def poll(self) -> bool:
        try:
            batches = self._consumer.poll(int(POLL_SECONDS * 1000))
        except KafkaError as error:
            tell_trouble(max(error.errno or 0, 0), repr(error))
            return not isinstance(error, FINAL)
        for batch in batches.values():
            for record in batch:
                tell_record(received(record))
        return True

    def commit(self, partition: int, offset: int) -> None:
        def commit() -> None:
            wanted = {TopicPartition(self._topic, partition): OffsetAndMetadata(offset, "", -1)}
            with refusals():
                try:
                    self._consumer.commit(wanted)
                except errors.RebalanceInProgressError:  # it has itself begun to join anew
                    self.poll()
                    self._consumer.commit(wanted)

        self.between_polls(commit)

    def seek(self, partition: int, offset: int) -> None:
        self.between_polls(lambda: self._consumer.seek(TopicPartition(self._topic, partition), offset))

    def close(self) -> None:
        with contextlib.suppress(KafkaError):  # the end of one that was fenced
            self._consumer.close(autocommit=False)
