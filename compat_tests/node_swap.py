"""One directory, two brokers in turn: Apache Kafka formats it and serves, then Ottla, then Kafka again.

Kafka formats it as it likes best, with all its features on. Each broker is asked what it finds, changes something, and
is asked again. Ottla is made to write a snapshot of the metadata, so that Kafka starts from that one. What has to hold
is in test_node_swap.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from compat_tests import kafka_topics
from compat_tests.kafka_process import HOST, NODE_ID, KafkaNode
from compat_tests.node_state import BROKER, TOPIC, NodeState, ask
from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.acls import (
    CreateAclsRequest,
    CreateAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from ottla.wire.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from ottla.wire.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from ottla.wire.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import Record
from tests.server.node_process import a_process

SET, DELETE = 0, 1
# Rules are kept for those only who have somebody to go by them, which Ottla has not.
WITH_RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
ANY, TOPIC_RESOURCE, LITERAL, READ, ALLOW = 1, 2, 3, 3, 3
MIN_INSYNC = "min.insync.replicas"
TOPICS: dict[str, dict[str, str]] = {
    "empty": {},
    "plain": {},
    "kept": {"retention.ms": "123456789", "cleanup.policy": "compact,delete"},
    "doomed": {},
}
# Changes that may be refused, as (type, name, operation, key, value).
QUESTIONS = (
    (BROKER, "", DELETE, MIN_INSYNC, None),
    (BROKER, str(NODE_ID), SET, MIN_INSYNC, "1"),
    (BROKER, "", SET, MIN_INSYNC, "1"),
    (BROKER, "", SET, MIN_INSYNC, "0"),
    (TOPIC, "plain", SET, MIN_INSYNC, "1"),
    (TOPIC, "plain", DELETE, MIN_INSYNC, None),
)


@dataclass
class Life:
    """What a broker said at its end, and how it answered to changes that it was only asked to check."""

    state: NodeState
    refusals: list[int]
    read: dict[str, list[Record]]
    unserved: tuple[Any, ...] | None = None


@dataclass
class Lives:
    kafka: Life
    ottla: Life
    ottla_found: NodeState
    ottla_printed: list[str]
    ottla_snapshots: list[str]
    kafka_found: Life
    kafka_added: NodeState
    added: list[Record] = field(default_factory=list)


def exchange(node: KafkaNode) -> Lives:
    node.format()
    with node.running():
        kafka_topics.create(node.bootstrap, TOPICS)
        with RawConnection(HOST, node.port) as connection:
            alter(connection, (BROKER, "", SET, "log.cleaner.backoff.ms", "15001"))
            alter(connection, (BROKER, str(NODE_ID), SET, "log.retention.ms", "9876543210"))
            set_what_ottla_does_not_serve(connection)
        first = kafka_topics.send_one(node.bootstrap, ("plain", "kept", "doomed"), 1_700_000_000_000)
        kafka = life_of(node.port, unserved=True)
        node.stop()
    with a_process(
        "--config",
        str(node.config_path),
        "--log.dirs",
        str(node.log_dir),
        "--listeners",
        f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0",
        "--metadata.log.max.record.bytes.between.snapshots",
        "1",
        "--authorizer.class.name",
        "",
    ) as ottla:
        (address,) = ottla.addresses
        port = int(address.rpartition(":")[2])
        ottla_found = ask(HOST, port, node_id=NODE_ID)
        kafka_topics.create(address, {"new": {"retention.ms": "1000000"}, "new-empty": {}})
        with RawConnection(HOST, port) as connection:
            alter(connection, (TOPIC, "kept", SET, "retention.ms", "42000000"))
            alter(connection, (BROKER, "", SET, "log.cleaner.backoff.ms", "15002"))
            delete(connection, "doomed")
        second = kafka_topics.send_one(address, ("plain", "kept", "new"), 1_700_000_000_001)
        ottla_life = life_of(port)
        assert ottla.stop() == 0, ottla.printed
    snapshots = [path.name for path in (node.log_dir / "__cluster_metadata-0").glob("*.checkpoint")]
    with node.running():
        kafka_found = life_of(node.port, unserved=True)
        third = kafka_topics.send_one(node.bootstrap, ("plain", "new"), 1_700_000_000_002)
        kafka_added = ask(HOST, node.port, node_id=NODE_ID)
        node.stop()
    return Lives(
        kafka, ottla_life, ottla_found, ottla.printed, snapshots, kafka_found, kafka_added, [first, second, third]
    )


def life_of(port: int, *, unserved: bool = False) -> Life:
    with RawConnection(HOST, port) as connection:
        state = ask(HOST, port, node_id=NODE_ID)
        refusals = [alter(connection, question, validate_only=True) for question in QUESTIONS]
        names = tuple(state.topics)
        read = kafka_topics.read_by_kafka_python(f"{HOST}:{port}", names, is_committed=True)
        return Life(state, refusals, read, what_ottla_does_not_serve(connection) if unserved else None)


def alter(
    connection: RawConnection, change: tuple[int, str, int, str, str | None], *, validate_only: bool = False
) -> int:
    kind, name, operation, key, value = change
    config = IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=[config]
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    (answer,) = connection.send(request, IncrementalAlterConfigsResponse, 1).responses
    assert validate_only or answer.error_code == 0, answer
    return answer.error_code


def delete(connection: RawConnection, topic: str) -> None:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicsRequest.DeleteTopicState(name=topic, topic_id=ZERO_UUID)], timeout_ms=60_000
    )
    (answer,) = connection.send(request, DeleteTopicsResponse, 6).responses
    assert answer.error_code == 0, answer


def set_what_ottla_does_not_serve(connection: RawConnection) -> None:
    quota = AlterClientQuotasRequest.EntryData(
        entity=[AlterClientQuotasRequest.EntityData(entity_type="client-id", entity_name="somebody")],
        ops=[AlterClientQuotasRequest.OpData(key="producer_byte_rate", value=123456.0, remove=False)],
    )
    quotas = connection.send(
        AlterClientQuotasRequest(entries=[quota], validate_only=False), AlterClientQuotasResponse, 1
    )
    assert quotas.entries[0].error_code == 0, quotas
    user = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32
    )
    users = connection.send(
        AlterUserScramCredentialsRequest(deletions=[], upsertions=[user]), AlterUserScramCredentialsResponse, 0
    )
    assert users.results[0].error_code == 0, users
    rule = CreateAclsRequest.AclCreation(
        resource_type=TOPIC_RESOURCE,
        resource_name="plain",
        resource_pattern_type=LITERAL,
        principal="User:alice",
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    rules = connection.send(CreateAclsRequest(creations=[rule]), CreateAclsResponse, 3)
    assert rules.results[0].error_code == 0, rules


def what_ottla_does_not_serve(connection: RawConnection) -> tuple[Any, ...]:
    quotas = connection.send(DescribeClientQuotasRequest(components=[], strict=False), DescribeClientQuotasResponse, 1)
    users = connection.send(DescribeUserScramCredentialsRequest(users=None), DescribeUserScramCredentialsResponse, 0)
    every = DescribeAclsRequest(
        resource_type_filter=ANY,
        resource_name_filter=None,
        pattern_type_filter=ANY,
        principal_filter=None,
        host_filter=None,
        operation=ANY,
        permission_type=ANY,
    )
    rules = connection.send(every, DescribeAclsResponse, 3)
    return quotas.entries, users.results, rules.resources
