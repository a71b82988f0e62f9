"""confluent-kafka in groups: the classic protocol, eager and cooperative, the new one (KIP-848), and static members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from compat_tests.clients.confluent_face import QUIET, Confluent, ConfluentAdmin, received, refused, result
from compat_tests.clients.records import SECONDS_MAX
from compat_tests.driven_clients.driver import CONSUMER, COOPERATIVE, EAGER
from compat_tests.driven_clients.python.client import Client, Request
from compat_tests.driven_clients.python.events import (
    HEARTBEAT_MS,
    tell_assigned,
    tell_record,
    tell_revoked,
    tell_trouble,
)
from compat_tests.driven_clients.python.polled_member import POLL_SECONDS, PolledMember


def state(told: ConsumerGroupState) -> str:
    """As the broker spells it, but for states of the new protocol, which librdkafka does not know."""
    return str(told.name).capitalize()


# After these it does not come back.
FINAL = (KafkaError.FENCED_INSTANCE_ID, KafkaError.UNRELEASED_INSTANCE_ID)


def client(bootstrap: str) -> Client:
    return Client(Confluent(bootstrap), Admin(bootstrap), lambda request: Member(bootstrap, request))


class Admin(ConfluentAdmin):
    client: AdminClient

    def committed(self, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        places = [TopicPartition(topic, partition) for partition in partitions]
        asked = [ConsumerGroupTopicPartitions(group, places)]
        found = result(self.client.list_consumer_group_offsets(asked)[group])
        return {place.partition: place.offset for place in found.topic_partitions}

    def describe_group(self, group: str) -> dict[str, object]:
        told = result(self.client.describe_consumer_groups([group])[group])
        return {"state": state(told.state), "members": len(told.members)}

    def list_groups(self) -> dict[str, dict[str, str]]:
        listed = result(self.client.list_consumer_groups())
        assert not listed.errors, listed.errors
        return {one.group_id: {"state": state(one.state), "type": one.type.name.lower()} for one in listed.valid}

    def delete_group(self, group: str) -> None:
        result(self.client.delete_consumer_groups([group])[group])

    def set_committed(self, group: str, topic: str, partition: int, offset: int) -> None:
        places = [TopicPartition(topic, partition, offset)]
        told = result(self.client.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])[group])
        for place in told.topic_partitions:
            if place.error is not None:
                raise refused(place.error)


class Member(PolledMember):
    def __init__(self, bootstrap: str, request: Request) -> None:
        super().__init__()
        self._topic: str = request["topic"]
        settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "group.id": request["group"],
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "error_cb": self._tell_error,
        }
        if request["instance_id"]:
            settings["group.instance.id"] = request["instance_id"]
        self._consumer = Consumer(settings | QUIET | protocol_settings(request))
        self._consumer.subscribe(
            [self._topic],
            on_assign=lambda _, places: tell_assigned(place.partition for place in places),
            on_revoke=lambda _, places: tell_revoked(place.partition for place in places),
            on_lost=lambda _, places: tell_revoked(place.partition for place in places),
        )
        self.start()

    def _tell_error(self, error: KafkaError) -> None:
        tell_trouble(broker_code(error), error.str())

    def poll(self) -> bool:
        try:
            messages = self._consumer.consume(1000, POLL_SECONDS)
        except KafkaException as raised:
            self._tell_error(raised.args[0])
            return False
        for message in messages:
            if (error := message.error()) is None:
                tell_record(received(message))
            else:
                self._tell_error(error)
                if error.code() == KafkaError._FATAL:
                    return False
        return True

    def commit(self, partition: int, offset: int) -> None:
        def commit() -> None:
            places = [TopicPartition(self._topic, partition, offset)]
            try:
                self._consumer.commit(offsets=places, asynchronous=False)
            except KafkaException as error:
                raise refused(error.args[0]) from error

        self.between_polls(commit)

    def seek(self, partition: int, offset: int) -> None:
        self.between_polls(lambda: self._consumer.seek(TopicPartition(self._topic, partition, offset)))

    def close(self) -> None:
        self._consumer.close()


def broker_code(error: KafkaError) -> int:
    """What the broker said; of what ends a consumer, librdkafka tells it in words only."""
    if error.code() == KafkaError._FATAL:
        return next((code for code in FINAL if KafkaError(code).str() in error.str()), 0)
    return max(error.code(), 0)


def protocol_settings(request: Request) -> dict[str, Any]:
    """In the new protocol the broker says how long sessions are and how often members tell that they live."""
    if request["protocol"] == CONSUMER:
        return {"group.protocol": "consumer"}
    return {
        "group.protocol": "classic",
        "partition.assignment.strategy": {EAGER: "range", COOPERATIVE: "cooperative-sticky"}[request["protocol"]],
        "session.timeout.ms": request["session_timeout_ms"],
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "max.poll.interval.ms": max(request["session_timeout_ms"], SECONDS_MAX * 1000),
    }
