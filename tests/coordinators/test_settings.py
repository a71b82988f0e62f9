"""The defaults are those of the broker's configuration keys."""

from __future__ import annotations

from ottla.config.broker import BrokerConfig
from ottla.coordinators.settings import GroupSettings

SAME = {
    "classic_session_timeout_ms_min": "group_min_session_timeout_ms",
    "classic_session_timeout_ms_max": "group_max_session_timeout_ms",
    "classic_initial_rebalance_delay_ms": "group_initial_rebalance_delay_ms",
    "classic_members_max": "group_max_size",
    "offset_metadata_max": "offset_metadata_max_bytes",
    "offsets_retention_check_interval_ms": "offsets_retention_check_interval_ms",
    "consumer_session_timeout_ms": "group_consumer_session_timeout_ms",
    "consumer_heartbeat_interval_ms": "group_consumer_heartbeat_interval_ms",
    "consumer_assignment_interval_ms": "group_consumer_assignment_interval_ms",
    "consumer_members_max": "group_consumer_max_size",
    "consumer_assignors": "group_consumer_assignors",
    "consumer_migration_policy": "group_consumer_migration_policy",
    "consumer_regex_refresh_interval_ms": "group_consumer_regex_refresh_interval_ms",
}


def test_defaults_are_those_of_the_keys() -> None:
    settings = GroupSettings()
    for name, key in SAME.items():
        assert getattr(settings, name) == getattr(BrokerConfig, key).default, name
    assert settings.offsets_retention_ms == BrokerConfig.offsets_retention_minutes.default * 60_000
