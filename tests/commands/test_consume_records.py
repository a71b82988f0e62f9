"""Records are read by offset, time and key, chosen and written; nothing more is read than is needed."""

from __future__ import annotations

import argparse
import io
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import FoundOffset
from ottla.client.topic_reader import Portion
from ottla.commands.consume_records import LINES_MAX, Output, catch_up, chosen_form, rounds, write
from ottla.commands.record_form import raw_form
from ottla.commands.spans import Span
from ottla.commands.terminal import Progress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Record
from tests.commands.command_line import CommandLine
from tests.commands.sample_logs import Tty

HOUR_MS = 3_600_000
START_MS = 1_700_000_000_000


@pytest.fixture
def hours(ottla: CommandLine, topic: str) -> str:
    """Ten records an hour apart in partition 0, none in partition 1."""
    ottla.ok("topics", "create", topic, "--partitions", "2", "--config", "retention.ms=-1")
    builder = BatchBuilder()
    for number in range(10):
        builder.append(None, b"hour %d" % number, timestamp=START_MS + number * HOUR_MS)
    with Client(ottla.bootstrap) as client:
        client.produce(topic, 0, builder.build())
    return topic


def test_all_is_read_up_to_the_end(ottla: CommandLine, hours: str) -> None:
    assert ottla.ok("consume", hours).data == b"".join(b"hour %d\n" % number for number in range(10))


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        (["--from-beginning"], 0, 9),
        (["--offset", "7"], 7, 9),
        (["--offset", "-2"], 8, 9),
        (["--offset", "-99"], 0, 9),
        (["--since", str(START_MS + 3 * HOUR_MS)], 3, 9),
        (["--since", "2023-11-15T01:13:19Z"], 3, 9),
        (["--until", str(START_MS + 3 * HOUR_MS)], 0, 2),
        (["--since", str(START_MS + 3 * HOUR_MS), "--until", str(START_MS + 3 * HOUR_MS + 1)], 3, 3),
        (["--until", "now"], 0, 9),
        (["-n", "3"], 0, 2),
        (["--grep", "hour [45]"], 4, 5),
        (["--partition", "0", "--max-messages", "1"], 0, 0),
        (["--committed", "--offset", "9"], 9, 9),
    ],
)
def test_a_part_is_read(ottla: CommandLine, hours: str, words: list[str], first: int, last: int) -> None:
    rows = ottla.ok("consume", hours, "--json", *words).rows
    assert [row["offset"] for row in rows] == list(range(first, last + 1))


@pytest.mark.parametrize(
    "words", [["--offset", "10"], ["--offset", "99"], ["--since", "-1m"], ["--until", "0"], ["--partition", "1"]]
)
def test_nothing_is_found_where_there_is_nothing(ottla: CommandLine, hours: str, words: list[str]) -> None:
    told = ottla.ok("consume", hours, *words)
    assert (told.data, told.err) == (b"", "")


def test_a_key_is_looked_for_in_its_partition_only(ottla: CommandLine, orders: str) -> None:
    # The same key in a partition where it does not belong is not seen: that partition is not read.
    ottla.ok("produce", orders, "--key", "a", "--partition", "0", stdin=b"misplaced\n")
    ottla.ok("produce", orders, "--key", "c", stdin=b"c shares the partition of a\n")
    (row,) = ottla.ok("consume", orders, "--key", "a", "--json").rows
    assert (row["partition"], row["value"], row["topic"]) == (1, "1", orders)


def test_a_template_shows_what_it_names(ottla: CommandLine, orders: str) -> None:
    told = ottla.ok("consume", orders, "--key", "b", "--format", r"{topic}\t{partition}:{offset} {key}={value} {{}}")
    assert told.out == f"{orders}\t2:0 b=2 {{}}\n"


def test_mistakes_are_told_before_anybody_is_asked(ottla: CommandLine, orders: str) -> None:
    for words, why in (
        (["--format", "{nothing}"], "--format: {nothing} is no field"),
        (["--grep", "("], "--grep: '(' is no regular expression"),
        (["--since", "tomorrow"], "--since: 'tomorrow' is no time"),
        (["--partition", "3"], f"--partition 3: {orders} has partitions 0 to 2"),
    ):
        told = ottla("consume", orders, *words)
        assert told.status == 2
        assert told.err.startswith(f"ottla: {why}")
    assert ottla("consume", orders, "--until", "now", "--follow").status == 2
    assert "did you mean" in ottla("consume", orders[:-1]).err


def test_following_shows_what_comes_and_ends_quietly_when_nobody_reads(ottla: CommandLine, orders: str) -> None:
    command = [sys.executable, "-m", "ottla", "consume", orders, "-b", ottla.bootstrap, "--follow", "--from-beginning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert {process.stdout.readline() for _ in range(3)} == {b"1\n", b"2\n", b"3\n"}
            ottla.ok("produce", orders, stdin=b"new\n")
            assert process.stdout.readline() == b"new\n"
            process.stdout.close()
            ottla.ok("produce", orders, stdin=b"unread\n")
            assert process.stderr.read() == b""
            assert process.wait(60) == 1
        finally:
            process.kill()


def test_ctrl_c_ends_following_without_a_word(ottla: CommandLine, orders: str) -> None:
    # Whoever started the tests may have switched the signal off, and children inherit that.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from ottla import cli; "
    words = ["consume", orders, "-b", ottla.bootstrap, "--follow", "--from-beginning"]
    command = [sys.executable, "-c", f"{code} sys.exit(cli.main({words!r}))"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == b""
            assert process.wait(60) == 130
        finally:
            process.kill()


def test_following_begins_at_the_end(ottla: CommandLine, orders: str) -> None:
    command = [sys.executable, "-m", "ottla", "consume", orders, "-b", ottla.bootstrap, "-f", "-n", "1", "--key", "a"]
    told: list[bytes] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            # It is not known when it has looked where the end is; one of these comes after that.
            while process.poll() is None:
                ottla.ok("produce", orders, "--key", "a", stdin=b"later\n")
            assert process.stdout is not None
            told += process.stdout.read().splitlines()
        finally:
            process.kill()
    assert told == [b"later"]


def record(offset: int) -> Record:
    return Record(offset, 0, None, b"%d" % offset, ())


class CountingStream(io.BytesIO):
    writes = 0

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.writes += 1
        return super().write(data)


def test_records_are_written_many_at_a_time_and_out_after_each_round() -> None:
    stream = CountingStream()
    seen = []

    def rounds() -> Iterator[list[Portion]]:
        yield [Portion(0, map(record, range(LINES_MAX + 1)))]
        seen.append(stream.getvalue().count(b"\n"))
        yield []

    write(rounds(), Output(stream), raw_form, lambda one: True, None)
    assert seen == [LINES_MAX + 1]
    assert stream.writes < 6


def test_what_came_before_damage_is_written() -> None:
    stream = io.BytesIO()

    def damaged() -> Iterator[Record]:
        yield record(1)
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE)

    with pytest.raises(KafkaError):
        write([[Portion(0, damaged())]], Output(stream), raw_form, lambda one: True, None)
    assert stream.getvalue() == b"1\n"


class StubClient:
    def __init__(self, first: int) -> None:
        self.first = first

    def list_offsets(self, asked: dict[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
        return {place: FoundOffset(self.first, -1, 0) for place in asked}


class StubReader:
    def __init__(self) -> None:
        self.offsets = {0: 5, 1: 50}
        self.unfinished = [0, 1]


def test_a_log_that_was_cut_goes_on_where_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    reader = StubReader()
    catch_up(StubClient(20), "t", reader)  # type: ignore[arg-type]
    assert reader.offsets == {0: 20, 1: 50}
    assert capsys.readouterr().err == "t-0: the log begins at 20 now; what was before is gone\n"


def test_reading_goes_on_after_a_cut_and_ends_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    class Client(StubClient):
        def call(self, function: Callable[..., Any]) -> list[Portion]:
            if reader.offsets[0] < self.first:
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
            reader.unfinished = []
            return [Portion(0, iter([record(20)]))]

    reader = StubReader()
    reach = Span({0: 5, 1: 50}, {0: 21, 1: 51})
    progress = Progress(Tty(), "reading", reach.record_count_max)
    read = list(rounds(Client(20), "t", reader, reach, progress))  # type: ignore[arg-type]
    assert [[one.offset for one in portion.records] for (portion,) in read] == [[20]]
    assert capsys.readouterr().err.startswith("t-0: the log begins at 20 now")
    assert progress.percent == 15 * 100 // 17


def test_a_log_that_became_shorter_is_an_error() -> None:
    with pytest.raises(KafkaError, match="made anew"):
        catch_up(StubClient(0), "t", StubReader())  # type: ignore[arg-type]


def test_a_person_sees_places_and_a_pipe_only_values(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = argparse.Namespace(json=False, format=None, topic="t")
    monkeypatch.setattr(sys, "stdout", Tty())
    assert b"3:7 " in chosen_form(parsed)(3, record(7))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert chosen_form(parsed)(3, record(7)) == b"7\n"
