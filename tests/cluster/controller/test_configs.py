"""IncrementalAlterConfigs and AlterConfigs."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.configs import Operation, alter_configs, incremental_alter_configs
from ottla.cluster.controller.result import Result
from ottla.cluster.image import ConfigType
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.wire.stored.metadata_records import ClearElrRecord, ConfigRecord, RegisterControllerRecord
from tests.cluster.controller.small_cluster import SmallCluster

SET, DELETE, APPEND, SUBTRACT = Operation
TOPIC, BROKER, GROUP = ConfigType.TOPIC, ConfigType.BROKER, ConfigType.GROUP

Step = tuple[str, int, str | None]
Incremental = IncrementalAlterConfigsRequest


def wish(type: int, name: str, *steps: Step) -> Incremental.AlterConfigsResource:
    configs = [Incremental.AlterableConfig(name=key, config_operation=op, value=value) for key, op, value in steps]
    return Incremental.AlterConfigsResource(resource_type=type, resource_name=name, configs=configs)


def alter(
    cluster: SmallCluster, *resources: Incremental.AlterConfigsResource, validate_only: bool = False
) -> Result[IncrementalAlterConfigsResponse]:
    return incremental_alter_configs(cluster.state, Incremental(resources=list(resources), validate_only=validate_only))


def replace_all(cluster: SmallCluster, type: int, name: str, **configs: str | None) -> Result[AlterConfigsResponse]:
    values = [AlterConfigsRequest.AlterableConfig(name=key.replace("_", "."), value=v) for key, v in configs.items()]
    resource = AlterConfigsRequest.AlterConfigsResource(resource_type=type, resource_name=name, configs=values)
    return alter_configs(cluster.state, AlterConfigsRequest(resources=[resource], validate_only=False))


def errors(result: Result[IncrementalAlterConfigsResponse]) -> list[tuple[str, ErrorCode]]:
    return [(outcome.resource_name, ErrorCode.of(outcome.error_code)) for outcome in result.response.responses]


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster()
    cluster.create("t", [1, 2, 3], retention_ms="5")
    return cluster


def overrides(cluster: SmallCluster, type: int = TOPIC, name: str = "t") -> dict[str, str]:
    return cluster.state.image.config_overrides(type, name)


def test_keys_are_set_and_deleted(cluster: SmallCluster) -> None:
    result = alter(cluster, wish(TOPIC, "t", ("retention.ms", DELETE, None), ("flush.ms", SET, "7")))
    assert errors(result) == [("t", ErrorCode.NONE)]
    cluster.do(result)
    assert overrides(cluster) == {"flush.ms": "7"}


def test_what_is_as_it_should_be_needs_no_record_except_for_a_broker(cluster: SmallCluster) -> None:
    same = wish(TOPIC, "t", ("retention.ms", SET, "5"), ("flush.ms", DELETE, None))
    assert alter(cluster, same).records == []
    cluster.do(alter(cluster, wish(BROKER, "1", ("k", SET, "v"))))
    assert len(alter(cluster, wish(BROKER, "1", ("k", SET, "v"))).records) == 1


def test_lists_grow_and_shrink_from_what_holds(cluster: SmallCluster) -> None:
    cluster.do(alter(cluster, wish(TOPIC, "t", ("cleanup.policy", APPEND, "compact,delete,compact"))))
    assert overrides(cluster)["cleanup.policy"] == "delete,compact"
    cluster.do(alter(cluster, wish(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete,other"))))
    assert overrides(cluster)["cleanup.policy"] == "compact"
    cluster.do(alter(cluster, wish(BROKER, "", ("listeners", APPEND, "a"))))
    assert overrides(cluster, BROKER, "") == {"listeners": "a"}


def test_to_validate_is_to_answer_and_to_write_nothing(cluster: SmallCluster) -> None:
    result = alter(cluster, wish(TOPIC, "t", ("flush.ms", SET, "7")), validate_only=True)
    assert (errors(result), result.records) == ([("t", ErrorCode.NONE)], [])


@pytest.mark.parametrize(
    ("resource", "code"),
    [
        (wish(0, "t"), ErrorCode.UNSUPPORTED_VERSION),
        (wish(ConfigType.BROKER_LOGGER, "1"), ErrorCode.INVALID_REQUEST),
        (wish(TOPIC, "nope", ("k", SET, "v")), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (wish(BROKER, "9", ("k", SET, "v")), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (wish(BROKER, "one", ("k", SET, "v")), ErrorCode.INVALID_REQUEST),
        (wish(TOPIC, "t", ("k", SET, "v"), ("k", DELETE, None)), ErrorCode.INVALID_REQUEST),
        (wish(TOPIC, "t", ("k", SET, None)), ErrorCode.INVALID_REQUEST),
        (wish(TOPIC, "t", ("cleanup.policy", 9, "v")), ErrorCode.UNKNOWN_SERVER_ERROR),
        (wish(TOPIC, "t", ("retention.ms", APPEND, "v")), ErrorCode.INVALID_CONFIG),
        (wish(TOPIC, "t", ("retention.ms", SET, "soon")), ErrorCode.INVALID_CONFIG),
        (wish(TOPIC, "t", ("k", SET, "x" * 32768)), ErrorCode.INVALID_CONFIG),
        (wish(TOPIC, "t", ("k", SET, "forbidden")), ErrorCode.POLICY_VIOLATION),
    ],
)
def test_what_cannot_be_is_refused_and_the_next_resource_is_altered(
    cluster: SmallCluster, resource: Incremental.AlterConfigsResource, code: ErrorCode
) -> None:
    result = alter(cluster, resource, wish(GROUP, "g", ("k", SET, "v")))
    assert errors(result) == [(resource.resource_name, code), ("g", ErrorCode.NONE)]
    assert len(result.records) == 1


def test_a_resource_twice_in_a_request_is_refused_once(cluster: SmallCluster) -> None:
    assert errors(alter(cluster, wish(TOPIC, "t"), wish(TOPIC, "t"))) == [("t", ErrorCode.INVALID_REQUEST)]


def test_a_request_for_too_much_is_refused_as_a_whole(cluster: SmallCluster) -> None:
    steps = [(f"k{number}", int(SET), "v") for number in range(10_001)]
    with pytest.raises(KafkaError, match="more than 10000"):
        alter(cluster, wish(GROUP, "g", *steps))


def test_a_nodes_configs_need_the_node_be_it_broker_controller_or_voter(cluster: SmallCluster) -> None:
    cluster.replay(
        RegisterControllerRecord(
            controller_id=50, incarnation_id=bytes(16), zk_migration_ready=False, end_points=[], features=[]
        )
    )
    resources = [wish(BROKER, name, ("k", SET, "v")) for name in ("1", "50", "100", "101")]
    codes = [code for _, code in errors(alter(cluster, *resources))]
    assert codes == [ErrorCode.NONE] * 3 + [ErrorCode.BROKER_ID_NOT_REGISTERED]


def test_the_old_form_removes_what_is_not_named(cluster: SmallCluster) -> None:
    result = replace_all(cluster, TOPIC, "t", flush_ms="1")
    assert result.response.responses[0].error_code == 0
    cluster.do(result)
    assert overrides(cluster) == {"flush.ms": "1"}
    request = AlterConfigsRequest(
        resources=[AlterConfigsRequest.AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[])],
        validate_only=True,
    )
    assert alter_configs(cluster.state, request).records == []
    assert replace_all(cluster, 0, "t").response.responses[0].error_code == ErrorCode.UNSUPPORTED_VERSION


def test_cordoned_directories_need_a_cluster_that_knows_them() -> None:
    old = SmallCluster(metadata_version=29)
    step = wish(BROKER, "1", ("cordoned.log.dirs", SET, "d"))
    assert errors(alter(old, step)) == [("1", ErrorCode.INVALID_CONFIG)]
    assert errors(alter(SmallCluster(), step)) == [("1", ErrorCode.NONE)]


def test_with_elr_a_changed_min_isr_empties_the_elrs_that_it_made(cluster: SmallCluster) -> None:
    key = "min.insync.replicas"
    assert alter(cluster, wish(TOPIC, "t", (key, SET, "2"))).records == [
        ConfigRecord(resource_type=TOPIC, resource_name="t", name=key, value="2"),
        ClearElrRecord(topic_name="t"),
    ]
    assert alter(cluster, wish(BROKER, "", (key, SET, "2"))).records[-1] == ClearElrRecord(topic_name="")


def test_with_elr_min_isr_belongs_to_all_brokers_together(cluster: SmallCluster) -> None:
    key = "min.insync.replicas"
    assert errors(alter(cluster, wish(BROKER, "1", (key, SET, "2")))) == [("1", ErrorCode.INVALID_CONFIG)]
    cluster.do(alter(cluster, wish(BROKER, "", (key, SET, "2"))))
    assert errors(alter(cluster, wish(BROKER, "", (key, DELETE, None)))) == [("", ErrorCode.INVALID_CONFIG)]


def test_without_elr_every_broker_may_have_its_own() -> None:
    cluster = SmallCluster(features={})
    result = alter(cluster, wish(BROKER, "1", ("min.insync.replicas", SET, "2")))
    assert [type(record) for record in result.records] == [ConfigRecord]
