"""The assignors that run on the broker (KIP-848): `uniform` and `range`, by the names that clients ask for."""

from __future__ import annotations

from ottla.coordinators.assignors.ranges import assign_ranges
from ottla.coordinators.assignors.spec import Assignor
from ottla.coordinators.assignors.uniform import assign_uniformly

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniformly, "range": assign_ranges}
