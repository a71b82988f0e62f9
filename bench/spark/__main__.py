"""The command line: two brokers filled with the same records, then every reading in turns."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.broker.contenders import KAFKA, OTTLA, Broker
from bench.broker.lab import Lab
from bench.broker.report import footer, machine
from bench.broker.running import tell
from bench.spark import report
from bench.spark.readings import READINGS, TOPIC, Found, Reading, a_session, frame, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDS, QUICK_RECORDS = 10_000_000, 1_000_000
REPEAT, QUICK_REPEAT = 3, 1
RECORD_BYTES = 100
PARTITIONS = 4


class Unequal(Exception):
    """Two readings of the same records did not come to the same."""


def parsed(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description="Spark on Ottla and on Apache Kafka.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, once")
    parser.add_argument("--records", type=int, metavar="N", help=f"records to write ({RECORDS:,}; quick: a tenth)")
    parser.add_argument("--repeat", type=int, metavar="N", help="repetitions of each reading (3; quick: 1)")
    parser.add_argument("--partitions", type=int, metavar="N", default=PARTITIONS, help="of the topic (4)")
    parser.add_argument("--directory", metavar="DIR", help="where the brokers keep their logs")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every repetition there")
    options = parser.parse_args(words)
    options.records = options.records or (QUICK_RECORDS if options.quick else RECORDS)
    options.repeat = options.repeat or (QUICK_REPEAT if options.quick else REPEAT)
    return options


def main(words: Sequence[str] | None = None) -> int:
    options = parsed(words)
    before = machine()
    # Whoever ends us by a signal wants the brokers ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=options.directory) as directory, Lab(Path(directory)) as lab:
        brokers = {name: filled(lab, name, options.records, options.partitions) for name in (OTTLA, KAFKA)}
        with a_session() as spark:
            seconds, counts = in_turns(spark, lab, brokers, options.repeat)
    rates = report.rates_of(seconds, counts)
    told = {"records": options.records, "repeat": options.repeat, "partitions": options.partitions}
    print(f"{report.table(READINGS, rates)}\n\n{footer(before, told, time.monotonic() - started)}")
    if options.json is not None:
        options.json.write_text(json.dumps(report.as_json(rates, before, told), indent=1) + "\n", encoding="utf-8")
    for wrong in report.missed(READINGS, rates):
        tell(f"not reached: {wrong}")
    return 0


def filled(lab: Lab, name: str, count: int, partitions: int) -> Broker:
    """A broker with so many records, as ProducerPerformance writes them."""
    broker = lab.start(name)
    lab.topic(broker, TOPIC, partitions)
    rate = lab.java.produce(broker.bootstrap, TOPIC, lab.payload_file(RECORD_BYTES), count)
    tell(f"{name}: {count:,} records written, {rate:,.0f} a second")
    return broker


def in_turns(
    spark: SparkSession, lab: Lab, brokers: Mapping[str, Broker], repeat: int
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """The seconds of every repetition and the records read, by reading. The first round warms up and does not count."""
    seconds: dict[str, list[float]] = {reading.name: [] for reading in READINGS}
    found: dict[str, Found] = {}
    for round_number in range(repeat + 1):
        for reading in READINGS if round_number % 2 else reversed(READINGS):
            took, now_found = timed(frame(spark, reading, brokers[reading.broker], log_dir_of(lab, reading)))
            tell(f"{reading.name}: {now_found.record_count / took:,.0f} a second{'' if round_number else ', cold'}")
            if round_number:
                seconds[reading.name].append(took)
            if found.setdefault(reading.name, now_found) != now_found:
                raise Unequal(f"{reading.name}: {now_found} after {found[reading.name]}")
    check_equal(found)
    return seconds, {name: one.record_count for name, one in found.items()}


def check_equal(found: Mapping[str, Found]) -> None:
    for reading in READINGS:
        others = {one.name: found[one.name] for one in READINGS if one.broker == reading.broker}
        if len(set(others.values())) > 1:
            raise Unequal(f"of the same records: {others}")


def log_dir_of(lab: Lab, reading: Reading) -> Path:
    """Where the broker keeps its partitions: Ottla in its own directory, Kafka in one inside of it."""
    (directory,) = lab.directory.glob(f"{reading.broker}-*")
    return directory / "logs" if reading.broker == KAFKA else directory


if __name__ == "__main__":
    sys.exit(main())
