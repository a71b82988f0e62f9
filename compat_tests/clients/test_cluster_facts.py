"""What clients may ask a cluster about itself: topics with their ids, directories, quorum, producers, leaders."""

from __future__ import annotations

from collections.abc import Iterator

import kafka
from confluent_kafka import TopicCollection

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin, result
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPythonAdmin
from compat_tests.clients.records import Producing, Sent
from compat_tests.kafka_process import NODE_ID
from compat_tests.side_by_side import Side
from ottla.wire.errors import ErrorCode

TELEMETRY = {71, 72}
PRODUCE = 0
PREFERRED = 0


def test_a_topic_is_described_with_its_id(
    admin: ConfluentAdmin, kafka_python_admin: KafkaPythonAdmin, make_topic: MakeTopic
) -> None:
    topic = make_topic(2)
    (future,) = admin.client.describe_topics(TopicCollection([topic])).values()
    described = result(future)
    assert [(one.id, one.leader.id) for one in described.partitions] == [(0, NODE_ID), (1, NODE_ID)]
    assert [node.id for one in described.partitions for node in one.isr] == [NODE_ID, NODE_ID]
    assert not described.is_internal
    (told,) = kafka_python_admin.client.describe_topics([topic])
    paged = kafka_python_admin.client.describe_topic_partitions([topic], response_partition_limit=1)
    assert told["topic_id"] == str(paged["topics"][0]["topic_id"])
    assert paged["next_cursor"] == {"topic_name": topic, "partition_index": 1}


def test_a_topic_that_is_not_there_is_described_by_an_error(
    kafka_python_admin: KafkaPythonAdmin, new_name: Iterator[str]
) -> None:
    (told,) = kafka_python_admin.client.describe_topics([next(new_name)])
    assert told["error_code"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_directories_are_described_with_sizes(
    kafka_python_admin: KafkaPythonAdmin, confluent: Confluent, make_topic: MakeTopic, broker: Side
) -> None:
    topic = make_topic(2)
    confluent.produce(topic, [Sent(b"x" * 1000)])
    (told,) = kafka_python_admin.client.describe_log_dirs({topic: [0, 1]})
    (directory,) = told["log_dirs"]
    assert directory["log_dir"] == str(broker.log_dir)
    (described,) = directory["topics"]
    sizes = {one["partition_index"]: one["partition_size"] for one in described["partitions"]}
    assert sizes == {0: (broker.log_dir / f"{topic}-0" / f"{0:020}.log").stat().st_size, 1: 0}


def test_the_quorum_is_described(kafka_python_admin: KafkaPythonAdmin) -> None:
    (topic,) = kafka_python_admin.client.describe_metadata_quorum()["topics"]
    (partition,) = topic["partitions"]
    assert (topic["topic_name"], partition["leader_id"]) == ("__cluster_metadata", NODE_ID)
    assert [voter["replica_id"] for voter in partition["current_voters"]] == [NODE_ID]
    assert partition["high_watermark"] > 0


def test_idempotent_producers_are_described(
    kafka_python_admin: KafkaPythonAdmin, confluent: Confluent, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    place = kafka.TopicPartition(topic, 0)
    confluent.produce(topic, [Sent(b"a"), Sent(b"b")], Producing(is_idempotent=True))
    (producer,) = kafka_python_admin.client.describe_producers([place])[place].active_producers
    assert (producer.producer_epoch, producer.last_sequence) == (0, 1)


def test_leaders_are_elected_where_there_is_a_need(kafka_python_admin: KafkaPythonAdmin, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    told = kafka_python_admin.client.elect_leaders(PREFERRED, {topic: [0, 9]}, raise_errors=False)
    (results,) = told.replica_election_results
    codes = {one.partition_id: one.error_code for one in results.partition_result}
    assert codes == {0: ErrorCode.ELECTION_NOT_NEEDED, 9: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_what_is_told_to_be_served(kafka_python_admin: KafkaPythonAdmin) -> None:
    told = {int(key): versions for key, versions in kafka_python_admin.client.api_versions().items()}
    # Kafka says so though it takes no versions below 3: librdkafka looks there for the codecs (KAFKA-18659).
    assert told[PRODUCE][0] == 0
    # Nobody here receives the metrics of clients, so they are not asked to send any.
    assert not TELEMETRY & set(told)
