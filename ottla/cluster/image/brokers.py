"""Brokers as they registered, and what changed since: fenced or not, shutting down or not, which directories.

Immutable. `Brokers` answers what handlers ask: who is alive on a listener. Knows no sessions and no clock: a broker is
fenced when a record says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.cluster.features import (
    CORDONED_LOG_DIRS_SINCE,
    DIRECTORY_ASSIGNMENT_SINCE,
    DISABLED,
    METADATA_VERSION_MAX,
    VersionRange,
)
from ottla.cluster.image.directory_ids import MIGRATING, UNASSIGNED, is_online
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.schema import UnknownTags
from ottla.wire.stored.metadata_records import BrokerRegistrationChangeRecord, RegisterBrokerRecord

Endpoint = RegisterBrokerRecord.BrokerEndpoint
Feature = RegisterBrokerRecord.BrokerFeature

# The values of the two change fields: a flag goes up, goes down or stays.
FENCE, UNFENCE = 1, -1
ENTER_CONTROLLED_SHUTDOWN = 1


class Broker(NamedTuple):
    """A registration. The epoch is the offset of the record that registered this incarnation."""

    id: int
    epoch: int
    incarnation_id: bytes
    listeners: dict[str, Endpoint]
    features: dict[str, Feature]
    rack: str | None
    fenced: bool
    in_controlled_shutdown: bool
    is_migrating_zk_broker: bool
    log_dirs: tuple[bytes, ...]
    cordoned_log_dirs: tuple[bytes, ...] | None
    unknown_tags: UnknownTags = ()

    @property
    def is_active(self) -> bool:
        """May lead, and may be in an ISR."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_uncordoned_log_dirs(self) -> bool:
        """Whether new replicas may come here (KIP-1066)."""
        if not self.log_dirs or self.cordoned_log_dirs is None:
            return True
        return any(directory not in self.cordoned_log_dirs for directory in self.log_dirs)

    @property
    def default_log_dir(self) -> bytes:
        """The directory of a replica that is placed here; only a broker with one directory leaves no choice."""
        if not self.log_dirs:
            return MIGRATING
        return self.log_dirs[0] if len(self.log_dirs) == 1 else UNASSIGNED

    def has_online_log_dir(self, directory_id: bytes) -> bool:
        return is_online(directory_id, self.log_dirs)

    def feature_range(self, name: str) -> VersionRange:
        feature = self.features.get(name)
        return (
            DISABLED if feature is None else VersionRange(feature.min_supported_version, feature.max_supported_version)
        )

    def changed(self, change: BrokerRegistrationChangeRecord) -> Broker:
        """The registration after a change. Directories that a record does not name stay as they are."""
        cordoned = change.cordoned_log_dirs
        return self._replace(
            fenced=_flag("fenced", change.fenced, self.fenced),
            in_controlled_shutdown=_flag(
                "in_controlled_shutdown", change.in_controlled_shutdown, self.in_controlled_shutdown
            ),
            log_dirs=tuple(change.log_dirs) or self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs if cordoned is None else tuple(cordoned),
        )

    def to_record(self, metadata_version: int = METADATA_VERSION_MAX) -> RegisterBrokerRecord:
        has_dirs = metadata_version >= DIRECTORY_ASSIGNMENT_SINCE
        has_cordoned = metadata_version >= CORDONED_LOG_DIRS_SINCE and self.cordoned_log_dirs is not None
        record = RegisterBrokerRecord(
            broker_id=self.id,
            is_migrating_zk_broker=self.is_migrating_zk_broker,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=list(self.listeners.values()),
            features=list(self.features.values()),
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=list(self.log_dirs) if has_dirs else [],
            cordoned_log_dirs=list(self.cordoned_log_dirs or ()) if has_cordoned else None,
        )
        record.unknown_tags = self.unknown_tags
        return record


def broker_of(record: RegisterBrokerRecord) -> Broker:
    """The registration that a record describes."""
    return Broker(
        record.broker_id,
        record.broker_epoch,
        record.incarnation_id,
        {endpoint.name: endpoint for endpoint in record.end_points},
        {feature.name: feature for feature in record.features},
        record.rack,
        record.fenced,
        record.in_controlled_shutdown,
        record.is_migrating_zk_broker,
        tuple(record.log_dirs),
        None if record.cordoned_log_dirs is None else tuple(record.cordoned_log_dirs),
        record.unknown_tags,
    )


def _flag(name: str, change: int, current: bool) -> bool:
    if change not in (1, 0, -1):
        raise MetadataLogError(f"a BrokerRegistrationChangeRecord whose {name} is {change}")
    return current if change == 0 else change == 1


@dataclass(frozen=True, slots=True)
class Brokers:
    """Registrations by broker id."""

    by_id: dict[int, Broker] = field(default_factory=dict)
    # Metadata responses ask this of the same image many times.
    _alive: dict[str, tuple[tuple[Broker, Endpoint], ...]] = field(default_factory=dict, compare=False, repr=False)

    def alive_on(self, listener: str) -> tuple[tuple[Broker, Endpoint], ...]:
        """Unfenced brokers with an endpoint on that listener, by id. One that is shutting down still serves."""
        known = self._alive.get(listener)
        if known is None:
            ordered = sorted(self.by_id.values(), key=lambda broker: broker.id)
            known = self._alive[listener] = tuple(
                (broker, broker.listeners[listener])
                for broker in ordered
                if not broker.fenced and listener in broker.listeners
            )
        return known

    def is_active(self, broker_id: int) -> bool:
        broker = self.by_id.get(broker_id)
        return broker is not None and broker.is_active
