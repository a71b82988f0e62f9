"""Configuration, by every client that can change it: the old way, the incremental way, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka.admin import ConfigResource as PythonConfigResource
from kafka.admin import ConfigResourceType

from compat_tests.clients.aiokafka_face import AiokafkaAdmin
from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin, result
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPythonAdmin
from compat_tests.clients.records import Producing, Refused, Sent
from compat_tests.clients.waiting import eventually
from compat_tests.kafka_process import NODE_ID
from compat_tests.side_by_side import Side
from ottla.wire.errors import ErrorCode

SET, DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE
APPEND, SUBTRACT = AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT


def replace(admin: ConfluentAdmin, topic: str, configs: Mapping[str, str]) -> None:
    """AlterConfigs: what is not named goes back to its default."""
    (future,) = admin.client.alter_configs([ConfigResource(ResourceType.TOPIC, topic, dict(configs))]).values()
    result(future)


def change(
    admin: ConfluentAdmin,
    name: str,
    *changes: tuple[AlterConfigOpType, str, str | None],
    kind: ResourceType = ResourceType.TOPIC,
) -> None:
    """IncrementalAlterConfigs: what is not named stays."""
    entries = [ConfigEntry(key, value, incremental_operation=operation) for operation, key, value in changes]
    (future,) = admin.client.incremental_alter_configs(
        [ConfigResource(kind, name, incremental_configs=entries)]
    ).values()
    result(future)


@pytest.mark.filterwarnings("ignore:alter_configs has been deprecated:DeprecationWarning")
def test_the_old_way_replaces_all_that_was_set(admin: ConfluentAdmin, broker: Side, make_topic: MakeTopic) -> None:
    topic = make_topic(configs={"retention.ms": "1000", "segment.bytes": "1048576"})
    replace(admin, topic, {"retention.ms": "2000"})
    eventually(lambda: admin.configs(topic), {"retention.ms": "2000"})
    aiokafka = AiokafkaAdmin(broker.bootstrap)
    aiokafka.replace_configs(topic, {"cleanup.policy": "compact"})
    eventually(lambda: aiokafka.configs(topic), {"cleanup.policy": "compact"})
    with pytest.raises(Refused, match="INVALID_CONFIG"):
        replace(admin, topic, {"retention.ms": "x"})
    with pytest.raises(Refused, match="INVALID_CONFIG"):
        aiokafka.replace_configs(topic, {"retention.ms": "x"})
    assert admin.configs(topic) == {"cleanup.policy": "compact"}


def test_the_incremental_way_changes_what_is_named(admin: ConfluentAdmin, make_topic: MakeTopic) -> None:
    topic = make_topic(configs={"retention.ms": "1000", "segment.bytes": "1048576"})
    change(admin, topic, (SET, "retention.ms", "2000"), (APPEND, "cleanup.policy", "compact"))
    eventually(
        lambda: admin.configs(topic),
        {
            "retention.ms": "2000",
            "segment.bytes": "1048576",
            "cleanup.policy": "delete,compact",
        },
    )
    change(admin, topic, (DELETE, "segment.bytes", None), (SUBTRACT, "cleanup.policy", "delete"))
    eventually(lambda: admin.configs(topic), {"retention.ms": "2000", "cleanup.policy": "compact"})


def test_kafka_python_changes_and_resets(kafka_python_admin: KafkaPythonAdmin, make_topic: MakeTopic) -> None:
    topic = make_topic(configs={"segment.bytes": "1048576"})
    client = kafka_python_admin.client

    def resource(configs: Mapping[str, object]) -> PythonConfigResource:
        return PythonConfigResource(ConfigResourceType.TOPIC, topic, configs)

    changes = {"retention.ms": "2000", "cleanup.policy": ("APPEND", "compact")}
    assert client.alter_configs([resource(changes)]) == {"topic": {topic: "OK"}}
    expected = {"segment.bytes": "1048576", "retention.ms": "2000", "cleanup.policy": "delete,compact"}
    eventually(lambda: kafka_python_admin.configs(topic), expected)
    assert client.alter_configs([resource({"retention.ms": "3000"})], validate_only=True) == {"topic": {topic: "OK"}}
    assert kafka_python_admin.configs(topic) == expected
    client.reset_configs([resource({"retention.ms": None})])
    eventually(lambda: sorted(kafka_python_admin.configs(topic)), ["cleanup.policy", "segment.bytes"])
    # Through AlterConfigs it names again what was set before.
    client.alter_configs([resource({"retention.ms": "4000"})], incremental=False)
    eventually(lambda: kafka_python_admin.configs(topic), expected | {"retention.ms": "4000"})


def test_what_is_wrong_is_refused_and_changes_nothing(
    admin: ConfluentAdmin, make_topic: MakeTopic, new_name: Iterator[str]
) -> None:
    topic = make_topic(configs={"retention.ms": "1000"})
    wrong = {
        "a word for a number": ((SET, "retention.ms", "soon"),),
        "below the least": ((SET, "segment.bytes", "-5"),),
        "no such choice": ((SET, "cleanup.policy", "burn"),),
        "no such key": ((SET, "no.such.key", "1"),),
        "appended to what is no list": ((APPEND, "retention.ms", "5"),),
        "one of two": ((SET, "retention.ms", "5"), (SET, "segment.bytes", "x")),
    }
    codes = {}
    for name, changes in wrong.items():
        with pytest.raises(Refused) as caught:
            change(admin, topic, *changes)
        codes[name] = caught.value.code
    assert codes == dict.fromkeys(wrong, ErrorCode.INVALID_CONFIG)
    assert admin.configs(topic) == {"retention.ms": "1000"}
    with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        change(admin, next(new_name), (SET, "retention.ms", "5"))
    with pytest.raises(Refused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        admin.configs(next(new_name))


def test_a_change_takes_effect(admin: ConfluentAdmin, confluent: Confluent, make_topic: MakeTopic) -> None:
    topic = make_topic()

    def is_taken() -> bool:
        try:
            confluent.produce(topic, [Sent(b"x" * 2_000_000)], Producing(request_bytes_max=5_000_000))
        except Refused as refused:
            if refused.code is not ErrorCode.MESSAGE_TOO_LARGE:
                raise
            return False
        return True

    assert not is_taken()
    change(admin, topic, (SET, "max.message.bytes", "3000000"))
    eventually(is_taken, expected=True)
    change(admin, topic, (DELETE, "max.message.bytes", None))
    eventually(is_taken, expected=False)


def test_a_brokers_configuration_is_the_default_of_its_topics(admin: ConfluentAdmin, make_topic: MakeTopic) -> None:
    topic, broker, key = make_topic(), str(NODE_ID), "log.retention.ms"

    def retention() -> tuple[str, str]:
        of_broker = configs_of(admin, ResourceType.BROKER, broker)[key].value
        return of_broker, configs_of(admin, ResourceType.TOPIC, topic)["retention.ms"].value

    assert retention() == ("-1", "-1")
    change(admin, broker, (SET, key, "600000"), kind=ResourceType.BROKER)
    eventually(retention, ("600000", "600000"))
    change(admin, broker, (DELETE, key, None), kind=ResourceType.BROKER)
    eventually(retention, ("-1", "-1"))
    with pytest.raises(Refused, match="INVALID_REQUEST"):
        change(admin, broker, (SET, "broker.rack", "here"), kind=ResourceType.BROKER)


def configs_of(admin: ConfluentAdmin, kind: ResourceType, name: str) -> dict[str, ConfigEntry]:
    (future,) = admin.client.describe_configs([ConfigResource(kind, name)]).values()
    return dict(result(future))
