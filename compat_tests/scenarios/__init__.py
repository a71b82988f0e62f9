"""All scenarios, area by area. Each module holds one area; here they are added up, and nowhere else."""

from __future__ import annotations

from compat_tests.scenarios import (
    api_versions,
    metadata,
)
from compat_tests.scenarios.scenario import Area, Scenario

AREAS: tuple[Area, ...] = (
    api_versions.AREA,
    metadata.AREA,
)
SCENARIOS: tuple[Scenario, ...] = tuple(scenario for area in AREAS for scenario in area.scenarios)
