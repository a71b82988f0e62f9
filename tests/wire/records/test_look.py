"""The look into records says what reading them says, whether it takes them one by one or by columns."""

from __future__ import annotations

from random import Random

import pytest

from ottla.wire.errors import KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records import look as looking
from ottla.wire.records.builder import encode_record
from ottla.wire.records.hop import read_length
from ottla.wire.records.look import OFFSETS_ALIKE, Looked, look
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
    wanted = read(data, count)
    assert look(data, 0, count) == wanted, "by columns"
    assert look(memoryview(data), 0, count) == wanted, "one by one"
    assert look(b"12345" + data, 5, count) == (wanted and (wanted[0], wanted[1] + 5, *wanted[2:])), "somewhere else"
    return wanted


def some(random: Random, count: int) -> list[bytes]:
    """Records that are alike for a while, and then are not."""
    records: list[bytes] = []
    delta = random.choice([0, 0, 50, 8000, -3, 2**40])
    while len(records) < count:
        key = random.choice([None, b"", b"key", bytes(70)])
        value = random.choice([None, b"", b"v" * random.randint(0, 70), bytes(random.choice([100, 1000, 9000]))])
        headers = random.choice([[]] * 8 + [[(b"name", b"value"), (b"", None)]])
        pace = random.choice([0, 0, 1, 1, 7, -1])
        for _ in range(random.choice([1, 2, 3, 10, 80])):
            delta += pace
            value = value and bytes(random.choices(range(256), k=len(value))) if random.random() < 0.1 else value
            records.append(encode_record(len(records), delta, key, value, headers))
    return records[:count]


@pytest.mark.parametrize("seed", range(60))
def test_records_of_all_kinds(seed: int) -> None:
    random = Random(seed)
    count = random.choice([1, 2, 5, 63, 64, 65, 66, 100, 300])
    found = compare(b"".join(some(random, count)), count)
    assert found is not None
    assert found[2:] == (0, True)


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


def alike(count: int, offset: int = 0) -> bytes:
    return b"".join(encode_record(offset + index, 0, None, b"value", ()) for index in range(count))


@pytest.mark.parametrize(
    "count", [64, 65, 66, 67, OFFSETS_ALIKE - 1, OFFSETS_ALIKE, OFFSETS_ALIKE + 3, 2 * OFFSETS_ALIKE + 9]
)
def test_offsets_of_every_width(count: int) -> None:
    data = alike(count)
    assert compare(data, count) == (0, len(data), 0, True)


@pytest.mark.parametrize("at", [0, 1, 2, 30, 63, 64, 65, 100, 8191, 8192, 8193, 8999])
def test_an_offset_that_is_not_the_next_is_noticed(at: int) -> None:
    data = alike(at) + alike(1, at + 1) + alike(9000 - at - 1, at + 1)
    assert compare(data, 9000) == (0, len(data), 0, False)


def test_offsets_that_begin_anew_where_their_bytes_do() -> None:
    """The first two bytes of an offset are those of one that is so much smaller."""
    data = alike(2 * OFFSETS_ALIKE) + alike(OFFSETS_ALIKE, OFFSETS_ALIKE)
    assert compare(data, 3 * OFFSETS_ALIKE) == (0, len(data), 0, False)


@pytest.mark.parametrize(
    "deltas", [[5, 5, 5, 9, 5, 5], [-1, -2, -1, -3], [63, 62, 61], [64, 200, 100, 199], [-70, -65, -90]]
)
def test_the_largest_delta_is_found_wherever_it_is(deltas: list[int]) -> None:
    data = b"".join(encode_record(index, delta, b"k", b"v", ()) for index, delta in enumerate(deltas * 10))
    found = compare(data, 10 * len(deltas))
    assert found is not None
    assert found[0] == max(deltas)


def test_a_number_may_be_written_in_more_bytes_than_it_needs() -> None:
    body = b"\0" + b"\x80\0" + b"\x80\x80\0" + varint(-1) + b"\x82\0" + b"v" + b"\0"
    record = varint(len(body)) + body
    found = compare(record * 50, 50)
    assert found is not None
    assert found[3] is False
    assert compare(record, 1) == (0, len(record), 0, True)


def test_records_alike_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the look would cost what it may not."""
    taken: list[int] = []
    search = looking._alike

    def counted(*given: object) -> tuple[int, int]:
        found = search(*given)  # type: ignore[arg-type]
        taken.append(found[0])
        return found

    monkeypatch.setattr(looking, "_alike", counted)
    assert look(alike(9000), 0, 9000) is not None
    assert sum(taken) > 9000 - 3 * len(taken)
    assert len(taken) < 10


def test_a_search_in_vain_is_not_made_for_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kinds of records of one size take turns."""
    searches: list[int] = []
    search = looking._alike

    def counted(*given: object) -> tuple[int, int]:
        searches.append(1)
        return search(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(looking, "_alike", counted)
    kinds = (b"k", b"value"), (b"ke", b"valu")
    data = b"".join(encode_record(index, 0, *kinds[index % 2], ()) for index in range(4000))
    assert look(data, 0, 4000) is not None
    assert len(searches) <= 4000 // looking.FEW
