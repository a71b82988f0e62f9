"""Lines become records, in the right partition, in few batches; mistakes name their line."""

from __future__ import annotations

import argparse
import io
import os
from random import Random

import pytest

from ottla.client.partitioning import Placement, partition_for_key
from ottla.client.sender import Sent
from ottla.commands import CommandFailed, UsageError
from ottla.commands.produce_lines import READ_BYTES, Lines, Totals, blocks, placed
from tests.commands.command_line import CommandLine, TerminalInput


def lines(**options: str | None) -> Lines:
    return Lines(argparse.Namespace(**({"key_separator": None, "key": None, "null": None} | options)))


def test_lines_arrive_in_order_with_their_keys_and_headers(ottla: CommandLine, orders: str) -> None:
    told = ottla.ok(
        "produce", orders, "--key-separator", "=>", "--header", "from=test", "--null", "-", "--compression", "zstd",
        stdin=b"k=>v=>w\r\nk=>-\n=>no key text\nk=>",
    )  # fmt: skip
    assert (told.out, told.err) == ("", f"4 records to {orders}, 2 partitions\n")
    rows = ottla.ok("consume", orders, "--json", "--grep", "", "--key", "k").rows
    assert [(row["key"], row["value"]) for row in rows] == [("k", "v=>w"), ("k", None), ("k", "")]
    assert rows[0]["headers"] == [{"key": "from", "value": "test"}]
    (empty,) = ottla.ok("consume", orders, "--json", "--key", "").rows
    assert (empty["value"], empty["partition"]) == ("no key text", partition_for_key(b"", 3))


def test_the_end_tells_offsets_by_partition(ottla: CommandLine, orders: str) -> None:
    told = ottla.ok("produce", orders, "--partition", "1", "--key", "any", "--json", stdin=b"x\ny\n")
    assert told.err == ""
    assert told.rows == [{"topic": orders, "partition": 1, "records": 2, "firstOffset": 1, "lastOffset": 2}]
    told = ottla.ok("produce", orders, "--partition", "1", "--acks", "1", "--quiet", stdin=b"z\n")
    assert (told.out, told.err) == ("", "")
    (unknown,) = ottla.ok("produce", orders, "--partition", "1", "--acks", "0", "--json", stdin=b"z\n").rows
    assert (unknown["records"], unknown["firstOffset"], unknown["lastOffset"]) == (1, None, None)


def test_many_lines_without_keys_spread_and_none_is_lost(ottla: CommandLine, topic: str) -> None:
    ottla.ok("topics", "create", topic, "--partitions", "3")
    numbers = "".join(f"{number}\n" for number in range(30_000)).encode()
    rows = ottla.ok("produce", topic, "--json", stdin=numbers).rows
    assert sum(row["records"] for row in rows) == 30_000
    assert len(rows) > 1
    read = ottla.ok("consume", topic).data
    assert sorted(read.splitlines(), key=int) == numbers.splitlines()


def test_a_line_without_a_key_ends_it_after_those_before(ottla: CommandLine, orders: str) -> None:
    told = ottla("produce", orders, "--key-separator", ":", stdin=b"x:1\nx:2\nnothing\nx:4\n")
    assert told.status == 1
    assert told.err == "ottla: line 3 has no key: it lacks ':'; the lines before it were sent\n"
    assert ottla.ok("consume", orders, "--key", "x").data == b"1\n2\n"


def test_what_a_topic_refuses_is_told_with_the_way_out(ottla: CommandLine, orders: str) -> None:
    told = ottla("produce", orders, stdin=b"x" * 1_100_000)
    assert told.status == 1
    assert "MESSAGE_TOO_LARGE" in told.err
    assert "`ottla configs set topic`" in told.err
    told = ottla("produce", orders, "--partition", "3", stdin=b"x")
    assert (told.status, told.err) == (2, f"ottla: --partition 3: {orders} has partitions 0 to 2\n")
    assert "did you mean" in ottla("produce", orders[:-1], stdin=b"x").err


def test_nothing_to_send_is_no_error(ottla: CommandLine, orders: str) -> None:
    assert ottla.ok("produce", orders).err == f"0 records to {orders}, 0 partitions\n"


def test_whoever_types_is_told_how_to_end(ottla: CommandLine, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"typed\n")
    os.close(writing)
    typed = TerminalInput()
    monkeypatch.setattr(typed, "fileno", lambda: reading, raising=False)
    try:
        told = ottla.ok("produce", orders, "--key", "t", stdin=typed)
    finally:
        os.close(reading)
    assert told.err.startswith(f"each line becomes a record of {orders}; Ctrl-D ends\n")
    assert ottla.ok("consume", orders, "--key", "t").data == b"typed\n"


def test_whole_lines_are_given_on_as_they_come() -> None:
    reading, writing = os.pipe()
    found = blocks(reading)
    os.write(writing, b"one\ntwo\nthr")
    assert next(found) == b"one\ntwo\n"
    os.write(writing, b"ee\n")
    assert next(found) == b"three\n"
    os.write(writing, b"no end")
    os.close(writing)
    assert list(found) == [b"no end"]
    os.close(reading)


def test_a_line_longer_than_a_read_is_one_line(tmp_path: os.PathLike[str]) -> None:
    path = os.path.join(tmp_path, "long")
    with open(path, "wb") as file:
        file.write(b"x" * (2 * READ_BYTES + 5) + b"\nlast")
    with open(path, "rb") as file:
        assert b"".join(blocks(file.fileno())) == b"x" * (2 * READ_BYTES + 5) + b"\nlast"


def test_keys_are_cut_at_the_first_separator() -> None:
    assert list(lines(key_separator=":").records(b"a:b:c\n:\n")) == [(b"a", b"b:c"), (b"", b"")]
    assert list(lines(key="k").records(b"a\n\nb")) == [(b"k", b"a"), (b"k", b""), (b"k", b"b")]
    assert list(lines(null="NULL").records(b"NULL\nNULLS\n")) == [(None, None), (None, b"NULLS")]
    with pytest.raises(UsageError, match="separates nothing"):
        lines(key_separator="")


def test_records_before_a_mistake_are_kept() -> None:
    placement = Placement(3, [0, 1, 2], Random(1))
    records, mistake = placed(lines(key_separator=":").records(b"a:1\nb\n"), placement, None, [])
    assert [(record.partition, record.key) for record in records] == [(1, b"a")]
    assert isinstance(mistake, CommandFailed)
    records, mistake = placed(lines().records(b"a\n"), placement, 2, [(b"h", b"v")])
    assert (records[0].partition, records[0].headers, mistake) == (2, [(b"h", b"v")], None)


def test_totals_join_the_batches_of_a_partition() -> None:
    totals = Totals()
    totals.add([Sent(1, 5, 2), Sent(0, None, 1)])
    totals.add([Sent(1, 9, 3)])
    assert totals.rows[1] == {"partition": 1, "records": 5, "firstOffset": 5, "lastOffset": 11}
    assert totals.record_count == 6


def test_progress_is_shown_while_a_file_is_sent(
    ottla: CommandLine, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr("ottla.commands.terminal.Tally.reached", lambda tally, done: shown.write(f"{done} "))
    ottla.ok("produce", orders, stdin=b"1\n2\n")
    assert shown.getvalue() == "2 "
