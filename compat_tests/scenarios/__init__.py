"""All scenarios, area by area. Each module holds one area; here they are added up, and nowhere else."""

from __future__ import annotations

from compat_tests.scenarios import (
    administration,
    api_versions,
    bad_records,
    classic_groups,
    clients,
    configs,
    consumer_groups,
    fetch,
    fetch_sessions,
    group_admin,
    group_offsets,
    limits,
    metadata,
    offset_lookups,
    passing_time,
    produce,
    record_times,
    topics,
)
from compat_tests.scenarios.scenario import Area, Scenario

AREAS: tuple[Area, ...] = (
    api_versions.AREA,
    metadata.AREA,
    topics.AREA,
    configs.AREA,
    administration.AREA,
    produce.AREA,
    bad_records.AREA,
    record_times.AREA,
    fetch.AREA,
    fetch_sessions.AREA,
    offset_lookups.AREA,
    classic_groups.AREA,
    group_offsets.AREA,
    group_admin.AREA,
    consumer_groups.AREA,
    passing_time.AREA,
    limits.AREA,
    clients.AREA,
)
SCENARIOS: tuple[Scenario, ...] = tuple(scenario for area in AREAS for scenario in area.scenarios)
