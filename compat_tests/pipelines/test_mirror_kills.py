"""A mirror whose driver is killed ten times, and one of its clusters five times: no gap, no duplicate, in order."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from compat_tests.pipelines.copies import copies, originals
from compat_tests.pipelines.copy_kills import (
    CONF,
    GUARD_SECONDS,
    KILLS,
    PARTITIONS,
    SMALL_BATCHES,
    Progress,
    environment,
    kill_often,
)
from compat_tests.pipelines.filled_topics import create, fill
from compat_tests.pipelines.killing import driver
from ottla.testing import Broker

pytestmark = pytest.mark.jvm

SEED = 20
TOPIC = "orders"
RECORDS_A_LIFE = 600


def test_ten_kills_of_the_driver_and_five_of_a_broker(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    with Broker() as source, Broker() as target:
        create(source.bootstrap_servers, TOPIC, PARTITIONS)
        words = ["pipeline", "mirror", TOPIC, "--from", source.bootstrap_servers, "--to", target.bootstrap_servers]
        words += ["--every", "0.01", "--round-records", "100", "--timeout", GUARD_SECONDS, *SMALL_BATCHES, *CONF]

        def filled(number: int) -> list[str]:
            first = number * RECORDS_A_LIFE
            fill(source.bootstrap_servers, TOPIC, range(first, first + RECORDS_A_LIFE), PARTITIONS)
            return words

        goals = [moments(number, chance) for number in range(KILLS)]
        progress = Progress(target, TOPIC)
        with progress.client:
            kill_often(filled, goals, progress, [source, target], tmp_path, chance)
            with driver("ottla", words, environment(tmp_path)) as life:
                total = KILLS * RECORDS_A_LIFE
                life.wait_for(lambda: progress() >= total, f"all {total} records are copied")
                assert life.finish() == 0, life.printed()
        expected = originals(source.bootstrap_servers, TOPIC)
        assert sum(map(len, expected.values())) == total
        assert copies(target.bootstrap_servers, TOPIC) == expected


def moments(number: int, chance: random.Random) -> tuple[int, int]:
    """How many records are copied when something is killed: two moments between the start and the end of a life."""
    first, second = sorted(chance.sample(range(1, RECORDS_A_LIFE), 2))
    return number * RECORDS_A_LIFE + first, number * RECORDS_A_LIFE + second
