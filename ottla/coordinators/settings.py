"""What a shard is told of the broker's configuration: plain values. Where they come from is known elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Defaults are Kafka's. `classic_` is for groups whose members assign, `consumer_` for KIP-848."""

    classic_session_timeout_ms_min: int = 6_000
    classic_session_timeout_ms_max: int = 1_800_000
    classic_initial_rebalance_delay_ms: int = 3_000
    classic_members_max: int = INT_MAX
    # A new member does not know its id and cannot send heartbeats; Kafka gives its JoinGroup five minutes.
    classic_new_member_join_timeout_ms: int = 300_000

    # Characters, though Kafka's key says bytes.
    offset_metadata_max: int = 4096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000

    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_assignment_interval_ms: int = 1_000
    consumer_members_max: int = INT_MAX
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: str = "bidirectional"
    consumer_regex_refresh_interval_ms: int = 600_000
