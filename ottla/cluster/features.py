"""Feature levels of a cluster (KIP-584, KIP-1022): which there are, what each needs, what metadata.version implies.

A table and questions to it. Which features a node serves is the node's own affair: ranges come in as arguments. Knows
no image and no request. `metadata.version` decides in which version a metadata record is written, so that a node of an
older release can read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"


class VersionRange(NamedTuple):
    """Inclusive. A node that does not name a feature has it at level 0 only."""

    low: int
    high: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.low <= level <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"


DISABLED = VersionRange(0, 0)


class MetadataVersion(NamedTuple):
    """One level of metadata.version; `changes_metadata` where records got new content that older nodes cannot read."""

    level: int
    name: str
    changes_metadata: bool


METADATA_VERSIONS = {
    version.level: version
    for version in (
        MetadataVersion(7, "3.3-IV3", True),
        MetadataVersion(8, "3.4-IV0", True),
        MetadataVersion(9, "3.5-IV0", False),
        MetadataVersion(10, "3.5-IV1", False),
        MetadataVersion(11, "3.5-IV2", True),
        MetadataVersion(12, "3.6-IV0", False),
        MetadataVersion(13, "3.6-IV1", True),
        MetadataVersion(14, "3.6-IV2", True),
        MetadataVersion(15, "3.7-IV0", True),
        MetadataVersion(16, "3.7-IV1", False),
        MetadataVersion(17, "3.7-IV2", True),
        MetadataVersion(18, "3.7-IV3", False),
        MetadataVersion(19, "3.7-IV4", False),
        MetadataVersion(20, "3.8-IV0", False),
        MetadataVersion(21, "3.9-IV0", False),
        MetadataVersion(22, "4.0-IV0", False),
        MetadataVersion(23, "4.0-IV1", True),
        MetadataVersion(24, "4.0-IV2", False),
        MetadataVersion(25, "4.0-IV3", False),
        MetadataVersion(26, "4.1-IV0", False),
        MetadataVersion(27, "4.1-IV1", False),
        MetadataVersion(28, "4.2-IV0", False),
        MetadataVersion(29, "4.2-IV1", False),
        MetadataVersion(30, "4.3-IV0", True),
    )
}
METADATA_VERSION_MIN = min(METADATA_VERSIONS)
METADATA_VERSION_MAX = max(METADATA_VERSIONS)


def metadata_version_of(release: str) -> int:
    """The level that a release of Kafka's is formatted with: `4.3`, `4.3.1` or `4.3-IV0`. ValueError names them all."""
    wanted = ".".join(release.split(".")[:2])
    found = [one.level for one in METADATA_VERSIONS.values() if wanted in (one.name, one.name.partition("-")[0])]
    if not found:
        low, high = METADATA_VERSIONS[METADATA_VERSION_MIN].name, METADATA_VERSIONS[METADATA_VERSION_MAX].name
        raise ValueError(f"{release!r} is no release from {low} to {high}")
    return max(found)


# The level from which on the metadata log may hold something.
MIGRATION_SINCE = 8  # RegisterBrokerRecord v2
NO_EPOCH_BUMP_ON_ISR_SHRINK_SINCE = 12  # KAFKA-15021
TRANSACTIONS_SINCE = 13  # KIP-868
CONTROLLER_REGISTRATION_SINCE = 15  # KIP-919
DIRECTORY_ASSIGNMENT_SINCE = 17  # KIP-858
ELIGIBLE_LEADER_REPLICAS_SINCE = 23  # KIP-966
CORDONED_LOG_DIRS_SINCE = 30  # KIP-1066


class FeatureLevel(NamedTuple):
    """A level of a feature: the metadata.version from which on a new cluster starts with it, and what it builds on."""

    level: int
    default_since: int
    needs: Mapping[str, int]


# Beside metadata.version, in the order in which a formatted directory lists them.
FEATURES: dict[str, tuple[FeatureLevel, ...]] = {
    ELIGIBLE_LEADER_REPLICAS_VERSION: (FeatureLevel(1, 26, {METADATA_VERSION: ELIGIBLE_LEADER_REPLICAS_SINCE}),),
    GROUP_VERSION: (FeatureLevel(1, 22, {}),),
    KRAFT_VERSION: (FeatureLevel(1, 21, {}),),
    SHARE_VERSION: (FeatureLevel(1, 28, {}),),
    STREAMS_VERSION: (FeatureLevel(1, 29, {}),),
    TRANSACTION_VERSION: (FeatureLevel(1, 24, {}), FeatureLevel(2, 24, {})),
}


def default_levels(metadata_version: int = METADATA_VERSION_MAX) -> dict[str, int]:
    """What Kafka's storage tool gives a new cluster of that metadata.version, metadata.version first."""
    levels = {METADATA_VERSION: metadata_version}
    for name, steps in FEATURES.items():
        levels[name] = max((step.level for step in steps if step.default_since <= metadata_version), default=0)
    return levels


def reason_not_ready(name: str, level: int, levels: Mapping[str, int]) -> str | None:
    """Why a feature cannot be at that level beside the other levels; None if it can."""
    if level == 0:
        return None
    step = next((step for step in FEATURES.get(name, ()) if step.level == level), None)
    if step is None:
        return f"there is no level {level} of {name}"
    for needed, needed_level in {METADATA_VERSION: METADATA_VERSION_MIN, **step.needs}.items():
        if levels.get(needed, 0) < needed_level:
            return f"{name} {level} needs {needed} {needed_level} or higher"
    return None


def found_ranges(levels: Mapping[str, int], served: Mapping[str, VersionRange]) -> dict[str, VersionRange]:
    """Features that a cluster was given by another release and that are not served here, as far as they are known.

    Their levels are kept: the records of one that nobody uses do no harm, and whoever serves it finds it as it was.
    """
    return {
        name: VersionRange(0, level)
        for name, level in levels.items()
        if name not in served and any(step.level == level for step in FEATURES.get(name, ()))
    }


def metadata_changed_between(one: int, other: int) -> bool:
    """Whether going down from the higher of the two levels could lose something that records hold."""
    low, high = sorted((one, other))
    return any(METADATA_VERSIONS[level].changes_metadata for level in range(low + 1, high + 1))


def register_broker_version(metadata_version: int) -> int:
    """The version of RegisterBrokerRecord to write."""
    if metadata_version >= CORDONED_LOG_DIRS_SINCE:
        return 4
    if metadata_version >= DIRECTORY_ASSIGNMENT_SINCE:
        return 3
    return 2 if metadata_version >= MIGRATION_SINCE else 1


def partition_version(metadata_version: int) -> int:
    """The version of PartitionRecord and PartitionChangeRecord to write."""
    if metadata_version >= ELIGIBLE_LEADER_REPLICAS_SINCE:
        return 2
    return 1 if metadata_version >= DIRECTORY_ASSIGNMENT_SINCE else 0
