"""The bench of Spark: its command line, and what it makes of seconds. No Spark runs here, and no figure is promised."""

from __future__ import annotations

import pytest

from bench.broker.contenders import KAFKA, OTTLA
from bench.spark import report
from bench.spark.__main__ import Unequal, check_equal, parsed
from bench.spark.readings import BASELINE, FROM_OTTLA, READINGS, Found

NAMES = [reading.name for reading in READINGS]


def rates(**others: float) -> dict[str, list[float]]:
    return {name: [others.get(name, 2.0) * 1000] for name in NAMES} | {
        BASELINE: [1000.0, 900.0, 1100.0],
        FROM_OTTLA: [others.get("ottla", 1.5) * 1000],
    }


def test_quick_is_a_tenth_once() -> None:
    full, quick = parsed([]), parsed(["--quick"])
    assert (full.records, full.repeat) == (10_000_000, 3)
    assert (quick.records, quick.repeat) == (1_000_000, 1)
    assert parsed(["--quick", "--records", "7", "--repeat", "2", "--partitions", "1"]).records == 7


def test_seconds_become_records_a_second() -> None:
    assert report.rates_of({"a": [2.0, 4.0]}, {"a": 100}) == {"a": [50.0, 25.0]}


def test_the_table_compares_with_kafka_and_judges() -> None:
    lines = report.table(READINGS, rates(ottla=0.95)).splitlines()
    assert len(lines) == 2 + len(READINGS)
    assert lines[2] == f"| {BASELINE} | 1,000 | 900 to 1,100 | 1.00 |  |  |"
    assert lines[3] == f"| {FROM_OTTLA} | 950 |  | 0.95 | >= 1x {BASELINE} | MISSED |"
    assert all(line.endswith("| reached |") for line in lines[4:])


def test_what_is_missed_is_named() -> None:
    assert report.missed(READINGS, rates()) == []
    assert report.missed(READINGS, rates(ottla=0.5)) == [f"{FROM_OTTLA}: 0.50x {BASELINE}"]
    slow = NAMES[2]
    assert report.missed(READINGS, rates(**{slow: 1.2})) == [f"{slow}: 0.80x {FROM_OTTLA}"]


def test_readings_of_the_same_records_must_come_to_the_same() -> None:
    same = {reading.name: Found(7 if reading.broker == KAFKA else 8, 100) for reading in READINGS}
    check_equal(same)
    ottla = next(reading.name for reading in READINGS if reading.broker == OTTLA)
    with pytest.raises(Unequal):
        check_equal({**same, ottla: Found(9, 100)})
