"""A replay whose driver is killed ten times, and its target five times: no gap, no duplicate, the same order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from compat_tests.pipelines.copies import copies, originals
from compat_tests.pipelines.copy_kills import (
    CONF,
    GUARD_SECONDS,
    KILLS,
    PARTITIONS,
    SMALL_BATCHES,
    Progress,
    kill_often,
)
from compat_tests.pipelines.filled_topics import create, fill
from ottla.testing import Broker
from tests.commands.command_line import CommandLine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

SEED = 21
TOPIC = "orders"
RECORDS = 9000


def test_ten_kills_of_the_driver_and_five_of_the_broker(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    archive = str(tmp_path / "archive")
    with Broker() as source, Broker() as target:
        create(source.bootstrap_servers, TOPIC, PARTITIONS)
        fill(source.bootstrap_servers, TOPIC, range(RECORDS), PARTITIONS)
        ottla = CommandLine(source.bootstrap_servers)
        assert ottla("pipeline", "archive", TOPIC, "-o", archive, "--once").status == 0
        words = ["pipeline", "replay", "-i", archive, "-b", target.bootstrap_servers, "--timeout", GUARD_SECONDS]
        words += [*SMALL_BATCHES, *CONF]
        progress = Progress(target, TOPIC)
        with progress.client:
            kill_often(lambda number: words, moments(chance), progress, [target], tmp_path, chance)
        told = ottla(*words, "--json")
        assert told.status == 0, told
        expected = originals(source.bootstrap_servers, TOPIC)
        assert sum(map(len, expected.values())) == RECORDS
        assert copies(target.bootstrap_servers, TOPIC) == expected


def moments(chance: random.Random) -> list[tuple[int, int]]:
    """How many records are written when something is killed, two moments of each life, all before the end."""
    drawn = sorted(chance.sample(range(1, RECORDS * 3 // 4), 2 * KILLS))
    return list(zip(drawn[::2], drawn[1::2], strict=True))
