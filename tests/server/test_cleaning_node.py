"""The cleaner in a broker that is a process: under load, killed, stopped, reconfigured; unchanged clients read it."""

from __future__ import annotations

import re
from pathlib import Path

from ottla.client.blocking import Client
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest
from tests.server.compacted_topic import (
    CLEANED,
    CLEANING,
    RECORDS_PER_BATCH,
    SECONDS_MAX,
    SEGMENT_CLEANED,
    TOPIC,
    assert_nothing_is_lost,
    create,
    delete,
    fill,
    read_by_kafka_python,
    unfinished,
)
from tests.server.node_process import NodeProcess, a_node

EAGER = ("--log.cleaner.backoff.ms", "10", "--ottla.log.level", "DEBUG")
RATE = "log.cleaner.io.max.bytes.per.second"
# Some 60 KB are read twice: three seconds for the keys, and after the first of many segments almost as much is left.
SLOW = ("--" + RATE, "20000")
STUCK = ("--" + RATE, "1")
BATCH_COUNT = 200
BROKER, SET = 4, 0


def a_client(node: NodeProcess) -> Client:
    return Client(node.address, Settings(retry_timeout_ms=SECONDS_MAX * 1000))


def log_directory(data: Path) -> Path:
    return data / f"{TOPIC}-0"


def test_a_topic_is_compacted_under_load_and_keeps_the_last_of_every_key(tmp_path: Path) -> None:
    with a_node(tmp_path, *EAGER) as node, a_client(node) as client:
        create(client)
        end = fill(client, BATCH_COUNT)
        first = node.line(CLEANED)
        end = fill(client, BATCH_COUNT, end)
        node.line(re.compile(f"(?!{re.escape(first[0])}){CLEANED.pattern}"))
        end = fill(client, 1, end)
        found = read_by_kafka_python(node)
        assert_nothing_is_lost(found, end)
        assert len(found) < end - RECORDS_PER_BATCH
        assert node.stop() == 0, node.printed
    assert unfinished(log_directory(tmp_path)) == []
    assert f"{TOPIC} 0 " in (tmp_path / "cleaner-offset-checkpoint").read_text()
    with a_node(tmp_path, *EAGER) as node:
        assert_nothing_is_lost(read_by_kafka_python(node), end)


def test_a_kill_in_the_middle_of_cleaning_loses_nothing(tmp_path: Path) -> None:
    with a_node(tmp_path, "--log.cleaner.enable", "false") as node, a_client(node) as client:
        create(client, **{"internal.segment.bytes": "5000"})
        end = fill(client, BATCH_COUNT)
        assert node.stop() == 0, node.printed
    with a_node(tmp_path, *EAGER, *SLOW) as node:
        node.line(SEGMENT_CLEANED)
        node.kill()
        assert not any(CLEANED.fullmatch(line) for line in node.printed), "it was not in the middle"
    with a_node(tmp_path, *EAGER) as node:
        node.line(CLEANED)
        assert_nothing_is_lost(read_by_kafka_python(node), end)
        assert node.stop() == 0, node.printed
    assert unfinished(log_directory(tmp_path)) == []


def test_a_stop_does_not_wait_for_the_cleaner_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    with a_node(tmp_path, *EAGER, *SLOW) as node, a_client(node) as client:
        create(client)
        end = fill(client, BATCH_COUNT)
        node.line(SEGMENT_CLEANED)
        assert node.stop() == 0, node.printed
        assert not any("recovered" in line for line in node.printed), "the stop was not clean"
    assert unfinished(log_directory(tmp_path)) == []
    with a_node(tmp_path, "--log.cleaner.enable", "false") as node:
        assert_nothing_is_lost(read_by_kafka_python(node), end)


def test_a_topic_is_deleted_and_made_anew_while_it_is_cleaned(tmp_path: Path) -> None:
    with a_node(tmp_path, *EAGER, *STUCK) as node, a_client(node) as client:
        create(client)
        fill(client, BATCH_COUNT)
        node.line(CLEANING)
        delete(client)
        create(client, **{"cleanup.policy": "delete", "retention.ms": "-1"})
        end = fill(client, 10)
        assert [one.offset for one in read_by_kafka_python(node)] == list(range(end))
        assert node.stop() == 0, node.printed
    assert unfinished(log_directory(tmp_path)) == []


def test_another_speed_takes_effect_while_a_log_is_cleaned(tmp_path: Path) -> None:
    with a_node(tmp_path, *EAGER, *STUCK) as node, a_client(node) as client:
        create(client)
        end = fill(client, BATCH_COUNT)
        node.line(CLEANING)
        config = IncrementalAlterConfigsRequest.AlterableConfig(name=RATE, config_operation=SET, value="1e9")
        resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
            resource_type=BROKER, resource_name="", configs=[config]
        )
        response = client.request(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False))
        assert response.responses[0].error_code == ErrorCode.NONE, response
        node.line(CLEANED)
        assert_nothing_is_lost(read_by_kafka_python(node), end)


def test_a_damaged_log_is_reported_and_served_all_the_same(tmp_path: Path) -> None:
    with a_node(tmp_path, "--log.cleaner.enable", "false") as node, a_client(node) as client:
        create(client)
        end = fill(client, BATCH_COUNT)
        assert node.stop() == 0, node.printed
    first = sorted(log_directory(tmp_path).glob("*.log"))[0]
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.write_bytes(data)
    with a_node(tmp_path, *EAGER) as node, a_client(node) as client:
        node.line(re.compile(rf".* {TOPIC}-0 will not be cleaned any more: .*{first.name}.*"))
        fill(client, 1, end)
        assert node.stop() == 0, node.printed
        assert sum("will not be cleaned" in line for line in node.printed) == 1
    assert unfinished(log_directory(tmp_path)) == []


def test_without_a_cleaner_everything_stays(tmp_path: Path) -> None:
    with a_node(tmp_path, *EAGER, "--log.cleaner.enable", "false") as node, a_client(node) as client:
        create(client)
        end = fill(client, BATCH_COUNT)
        assert [one.offset for one in read_by_kafka_python(node)] == list(range(end))
        assert node.stop() == 0, node.printed
        assert not any(CLEANING.fullmatch(line) for line in node.printed)
