"""The look into records says what reading them says, compiled or not."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import cast

import pytest

from hatch_build import digest
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records import look as python
from ottla.wire.records.builder import encode_record
from ottla.wire.records.check import look
from ottla.wire.records.lengths import read_length
from ottla.wire.records.look import Looked
from ottla.wire.records.record import parsed


def read(data: bytes, count: int) -> Looked | None:
    """What the look should say: every record read by itself."""
    largest_delta, position, is_in_order = -(2**63) + 1, 0, True
    for index in range(count):
        try:
            length, body = read_length(data, position)
        except IndexError:
            return largest_delta, position, count - index, is_in_order
        except KafkaError:
            return None
        if length < 0:
            return None
        if body + length > len(data):
            return largest_delta, position, count - index, is_in_order
        try:
            delta, offset, *_ = parsed(data[body : body + length])
        except KafkaError:
            return None
        largest_delta = max(largest_delta, delta)
        is_in_order = is_in_order and offset == index
        position = body + length
    return largest_delta, position, 0, is_in_order


def compare(data: bytes, count: int) -> Looked | None:
    """What the look says: what reading each record says."""
    found = look(data, 0, count, 0)
    assert found == read(data, count)
    assert python.look(data, 0, count, 0) == found, "not compiled"
    assert python.look(cast(bytes, memoryview(data)), 0, count, 0) == found, "where it lies"
    assert look(b"12345" + data, 5, count, 0) == (found and (found[0], found[1] + 5, *found[2:])), "somewhere else"
    return found


def some(random: Random, count: int) -> list[bytes]:
    """Records that are alike for a while, and then are not."""
    records: list[bytes] = []
    delta = random.choice([0, 0, 50, 8000, -3, 2**40])
    while len(records) < count:
        key = random.choice([None, b"", b"key", bytes(70)])
        value = random.choice([None, b"", b"v" * random.randint(0, 70), bytes(random.choice([100, 1000, 9000]))])
        headers = random.choice([[]] * 8 + [[(b"name", b"value"), (b"", None)]])
        pace = random.choice([0, 0, 1, 1, 7, -1])
        varies = random.random() < 0.5
        for _ in range(random.choice([1, 2, 3, 10, 80])):
            delta += pace
            one = value and bytes(random.choices(range(256), k=random.randint(0, 2 * len(value)))) if varies else value
            records.append(encode_record(len(records), delta, key, one, headers))
    return records[:count]


@pytest.mark.parametrize("seed", range(60))
def test_records_of_all_kinds(seed: int) -> None:
    random = Random(seed)
    count = random.choice([1, 2, 5, 63, 64, 65, 66, 100, 300])
    data = b"".join(some(random, count))
    found = compare(data, count)
    assert found is not None
    assert found[1:] == (len(data), 0, True)


@pytest.mark.parametrize("seed", range(200))
def test_records_in_which_one_byte_is_another(seed: int) -> None:
    random = Random(seed)
    count = random.choice([2, 5, 66, 150])
    records = some(random, count)
    starts = [len(b"".join(records[:index])) for index in range(count)]
    data = bytearray(b"".join(records))
    for _ in range(8):
        # Mostly where the fields are.
        position = min(random.choice(starts) + random.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 50]), len(data) - 1)
        kept = data[position]
        data[position] = random.choice(
            [0, 1, 2, 3, 0x7F, 0x80, 0x81, 0xFF, kept + 1 & 0xFF, kept - 1 & 0xFF, kept ^ 0x80]
        )
        compare(bytes(data), count)
        data[position] = kept


@pytest.mark.parametrize("seed", range(60))
def test_records_that_end_somewhere(seed: int) -> None:
    random = Random(seed)
    data = b"".join(some(random, 90))
    for _ in range(8):
        found = compare(data[: random.randrange(len(data))], 90)
        assert found is not None
        assert found[2] > 0


def test_a_number_may_be_written_in_more_bytes_than_it_needs() -> None:
    body = b"\0" + b"\x80\0" + b"\x80\x80\0" + varint(-1) + b"\x82\0" + b"v" + b"\0"
    record = varint(len(body)) + body
    found = compare(record * 50, 50)
    assert found is not None
    assert found[3] is False
    assert compare(record, 1) == (0, len(record), 0, True)


@pytest.mark.parametrize("width", [0, 64, 8191, 8192, 8193, 2**20 - 1, 2**20, 2**21])
def test_offsets_of_every_width(width: int) -> None:
    data = b"".join(encode_record(width + index, 0, None, b"v", ()) for index in range(5))
    assert look(data, 0, 5, width) == python.look(data, 0, 5, width) == (0, len(data), 0, True)
    assert look(data, 0, 5, width + 1) == python.look(data, 0, 5, width + 1) == (0, len(data), 0, False)


def test_the_look_is_compiled_from_the_source_that_is_here() -> None:
    """A stale one would hide every change of the source; `make` compiles it anew. Where there is no C compiler there is
    none, and this is skipped; in CI, as everywhere, that is a failure: the gate runs what is compiled."""
    compiled = pytest.importorskip("ottla.wire.records.compiled_look")
    assert digest(Path(python.__file__).read_text(encoding="utf-8")) == compiled.SOURCE_DIGEST
    assert look is compiled.look
