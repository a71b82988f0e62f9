"""What a storm plans: by seed, everything once before anything twice, and every kind early."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from tests.faults.storm import NETWORK_FAULTS, PROCESS_FAULTS, ROLES, planned

KINDS = len(PROCESS_FAULTS) + len(NETWORK_FAULTS) + 1
EVERYTHING = (KINDS - 1) * len(ROLES) + 1


def plan_of(seed: int) -> list[tuple[str, str]]:
    return [(fault.__name__, role) for fault, role in islice(planned(Random(seed)), EVERYTHING)]


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_comes_before_one_comes_again(seed: int) -> None:
    plan = plan_of(seed)
    assert len({kind for kind, _ in plan[:KINDS]}) == KINDS
    assert len(set(plan)) == EVERYTHING


def test_a_seed_chooses_the_plan() -> None:
    assert plan_of(1) == plan_of(1)
    assert plan_of(1) != plan_of(2)
