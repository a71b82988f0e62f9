"""What is asked and told around an archive. The whole of it, on Spark: compat_tests/pipelines/test_archive.py."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ottla import cli
from ottla.commands import CommandFailed, UsageError
from ottla.pipelines.archive_run import (
    Source,
    Totals,
    asked_source,
    lost_records,
    matching,
    reading_options,
    status_text,
    summary,
)
from ottla.testing import Broker

SOURCE = Source("host:9092", "cluster", {"a": (0, 1)})


def parsed(*words: str) -> Any:
    return cli.parser("pipeline").parse_args(["pipeline", "archive", "-o", "out", *words])


def test_the_options_of_the_source_say_what_is_read_from_where() -> None:
    options = reading_options(parsed("a", "--client", "x.y=z"), SOURCE, {"a": {1: 7}})
    assert json.loads(options.pop("startingOffsets")) == {"a": {"0": -2, "1": 7}}
    assert options == {
        "kafka.bootstrap.servers": "host:9092",
        "kafka.isolation.level": "read_committed",
        "kafka.x.y": "z",
        "subscribe": "a",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "maxOffsetsPerTrigger": "1000000",
    }


def test_what_the_user_says_of_the_consumer_wins() -> None:
    options = reading_options(parsed("a", "--client", "isolation.level=read_uncommitted"), SOURCE, {})
    assert options["kafka.isolation.level"] == "read_uncommitted"


def test_a_pattern_that_matches_nothing_yet_begins_where_it_is_told() -> None:
    words = ("--pattern", "b.*", "--from", "latest", "--skip-lost")
    options = reading_options(parsed(*words), Source("host:9092", "cluster", {}), {})
    assert (options["subscribePattern"], options["startingOffsets"]) == ("^(?:b.*)$", "latest")
    assert options["failOnDataLoss"] == "false"
    assert "subscribe" not in options


def test_a_pattern_means_whole_names_and_no_internal_topics() -> None:
    topics: Any = {name: SimpleNamespace(is_internal=name[0] == "_") for name in ("orders", "orders-2", "_orders")}
    assert matching(topics, "orders") == ["orders"]
    assert matching(topics, ".*orders.*") == ["orders", "orders-2"]
    with pytest.raises(UsageError, match="--pattern"):
        matching(topics, "(")


def test_the_cluster_is_asked_before_spark_starts() -> None:
    with Broker(in_thread=True) as broker:
        broker.create_topic("orders", partitions=3)
        found = asked_source(parsed("orders", "-b", broker.bootstrap_servers))
        assert found.partitions == {"orders": (0, 1, 2)}
        assert found.cluster_id
        assert len(found.topic_ids["orders"]) == 22
        with pytest.raises(CommandFailed, match="there is no topic order; did you mean orders"):
            asked_source(parsed("order", "-b", broker.bootstrap_servers))
    with pytest.raises(CommandFailed, match=r"no broker answers at 127\.0\.0\.1:1"):
        asked_source(parsed("orders", "-b", "127.0.0.1:1", "--timeout", "5"))


def test_records_that_are_gone_are_told_with_the_way_out() -> None:
    told = lost_records("Writing failed.\nCaused by: x.y.Lost: gone; set the source option failOnDataLoss to false")
    assert told is not None
    assert str(told).startswith("records were deleted before they were archived: gone; ")
    assert str(told).endswith("; --skip-lost goes on without them")
    assert lost_records("Caused by: x.y.Other: no") is None


def test_what_was_done_is_told_in_words() -> None:
    assert status_text(Totals(records=2000, files=1), 2.0, None) == "2,000 records in 1 file, 1,000 a second"
    assert status_text(Totals(), 0.0, 12_000).endswith(", 12,000 behind")
    assert summary(Totals(records=1, files=2), "u") == "1 record archived in 2 files of u"
    told = summary(Totals(repeated=3, undecoded=4, merged=5), "u")
    assert told.endswith("3 records were there already; 4 values did not fit the schema; 5 small files merged")
