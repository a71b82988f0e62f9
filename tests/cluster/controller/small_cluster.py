"""A cluster for stories: a controller's state, some brokers, and a clock that moves when told.

`do` plays the driver: it replays a result's records at the next offsets, as if they had been committed, and hands back
the response. Nothing here waits or fails by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar, TypeVar

from ottla.cluster.controller import ControllerSettings, ControllerState, Result
from ottla.cluster.controller.heartbeats import heartbeat
from ottla.cluster.controller.registrations import register_broker
from ottla.cluster.controller.topics import create_topics
from ottla.cluster.features import VersionRange, default_levels
from ottla.cluster.image import EMPTY, ConfigResource, ConfigType, MetadataLoader, Partition, Topic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import BrokerHeartbeatRequest, BrokerHeartbeatResponse, BrokerRegistrationRequest
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import FeatureLevelRecord

R = TypeVar("R")

CLUSTER_ID = "small"
NODE_ID = 100
ELR = "eligible.leader.replicas.version"
SUPPORTED = {name: VersionRange(0, level) for name, level in default_levels().items()} | {
    "metadata.version": VersionRange(7, 30)
}


class FewConfigs:
    """Rules for a world with few configs: numbers below 1000, one list, one that no topic may have."""

    LISTS: ClassVar[dict[tuple[int, str], str | None]] = {
        (ConfigType.TOPIC, "cleanup.policy"): "delete",
        (ConfigType.BROKER, "listeners"): None,
    }

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], existing: Mapping[str, str]) -> None:
        for key, value in configs.items():
            if value == "bad" or (key == "retention.ms" and not value.isdecimal()):
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{key}={value}")
            if value == "forbidden":
                raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{key}={value}")

    def is_list(self, resource_type: int, key: str) -> bool:
        return (resource_type, key) in self.LISTS

    def default(self, resource_type: int, key: str) -> str | None:
        return self.LISTS[resource_type, key]

    def describe_topic(self, overrides: Mapping[str, str]) -> list[CreateTopicsResponse.CreatableTopicConfigs]:
        return [
            CreateTopicsResponse.CreatableTopicConfigs(name=key, value=value, read_only=False, is_sensitive=False)
            for key, value in overrides.items()
        ]


def directory(broker_id: int, number: int = 0) -> bytes:
    return bytes([broker_id, number, *range(1, 15)])


def incarnation(broker_id: int, number: int = 0) -> bytes:
    return bytes([99, broker_id, number]) + bytes(13)


class SmallCluster:
    """Brokers 1 to n, unfenced, all features on unless said otherwise."""

    def __init__(
        self,
        brokers: int = 3,
        *,
        metadata_version: int = 30,
        features: Mapping[str, int] | None = None,
        racks: Mapping[int, str] | None = None,
        **settings: Any,
    ) -> None:
        self.now_ms = 1_000_000
        self.epoch = 1
        self.racks = racks or {}
        loader = MetadataLoader(EMPTY)
        levels = (
            default_levels(metadata_version) if features is None else {"metadata.version": metadata_version} | features
        )
        levels = {name: level for name, level in levels.items() if level and name != "kraft.version"}
        records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
        loader.load(records, base_offset=0, last_offset=len(records) - 1, epoch=1, timestamp_ms=0)
        self.settings = ControllerSettings(
            cluster_id=CLUSTER_ID,
            node_id=NODE_ID,
            config_rules=FewConfigs(),
            random=Random(7),
            supported_features=SUPPORTED,
            quorum_node_ids=(NODE_ID,),
            **settings,
        )
        self.state = ControllerState(self.settings, loader.image, now_ms=self.now_ms)
        for broker_id in range(1, brokers + 1):
            self.start(broker_id)

    @property
    def next_offset(self) -> int:
        return self.state.image.offset + 1

    def replay(self, *records: StoredRecord) -> None:
        self.state.replay(list(records), base_offset=self.next_offset, epoch=self.epoch, now_ms=self.now_ms)

    def do(self, result: Result[R]) -> R:
        if result.records:
            self.replay(*result.records)
        return result.response

    def with_settings(self, **changes: Any) -> SmallCluster:
        """The same cluster under a new controller that has other settings."""
        self.settings = replace(self.settings, **changes)
        self.fail_over()
        return self

    def fail_over(self) -> None:
        """Another controller takes over with what the log says."""
        self.state = ControllerState(self.settings, self.state.image, now_ms=self.now_ms)

    # -- brokers ------------------------------------------------------------------------------------------------------

    def registration(self, broker_id: int, *, number: int = 0, **values: Any) -> BrokerRegistrationRequest:
        listener = BrokerRegistrationRequest.Listener(
            name="PLAINTEXT", host=f"host{broker_id}", port=9092, security_protocol=0
        )
        features = [
            BrokerRegistrationRequest.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in {**SUPPORTED, "kraft.version": VersionRange(0, 1)}.items()
        ]
        known: dict[str, Any] = {
            "broker_id": broker_id,
            "cluster_id": CLUSTER_ID,
            "incarnation_id": incarnation(broker_id, number),
            "listeners": [listener],
            "features": features,
            "rack": self.racks.get(broker_id),
            "log_dirs": [directory(broker_id)],
        }
        return BrokerRegistrationRequest(**(known | values))

    def register(self, broker_id: int, *, version: int = 4, number: int = 0, **values: Any) -> int:
        request = self.registration(broker_id, number=number, **values)
        result = register_broker(self.state, request, version, next_offset=self.next_offset, now_ms=self.now_ms)
        return self.do(result).broker_epoch

    def start(self, broker_id: int, **values: Any) -> int:
        epoch = self.register(broker_id, **values)
        assert not self.beat(broker_id).is_fenced
        return epoch

    def beat(self, broker_id: int, **values: Any) -> BrokerHeartbeatResponse:
        return self.do(self.heartbeat(broker_id, **values))

    def heartbeat(self, broker_id: int, **values: Any) -> Result[BrokerHeartbeatResponse]:
        known: dict[str, Any] = {
            "broker_id": broker_id,
            "broker_epoch": self.state.image.brokers.by_id[broker_id].epoch,
            "current_metadata_offset": self.state.image.offset,
            "want_fence": False,
            "want_shut_down": False,
        }
        request = BrokerHeartbeatRequest(**(known | values))
        self.state.sessions.contact(broker_id, request.broker_epoch, request.current_metadata_offset, self.now_ms)
        return heartbeat(self.state, request)

    def fence(self, broker_id: int) -> None:
        assert self.beat(broker_id, want_fence=True).is_fenced

    # -- topics -------------------------------------------------------------------------------------------------------

    def create(self, name: str, *assignments: Sequence[int], **configs: str) -> Topic:
        """A topic whose partitions have these replicas; config names with underscores for dots."""
        request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(
                    name=name,
                    num_partitions=-1,
                    replication_factor=-1,
                    assignments=[
                        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                        for index, replicas in enumerate(assignments)
                    ],
                    configs=[
                        CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                        for key, value in configs.items()
                    ],
                )
            ]
        )
        result = create_topics(self.state, request)
        outcome = result.response.topics[0]
        if outcome.error_code:
            raise KafkaError(ErrorCode.of(outcome.error_code), outcome.error_message or "")
        self.do(result)
        return self.topic(name)

    def topic(self, name: str) -> Topic:
        return self.state.image.topics.by_name[name]

    def partition(self, name: str, partition_id: int = 0) -> Partition:
        return self.topic(name).partitions[partition_id]
