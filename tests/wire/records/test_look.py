"""The look into records says what reading them says, whether it takes them one by one or by columns."""

from __future__ import annotations

from random import Random

import pytest

from ottla.wire.errors import KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records.builder import encode_record
from ottla.wire.records.hop import read_length
from ottla.wire.records.look import FEW, LONG_BYTES, UNLIKE_MAX, Looked, look
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
    """What the look says. It is true of all records that it went through, and it left others for a reason."""
    found = look(data, 0, count)
    assert look(memoryview(data), 0, count) == found, "where it lies"
    assert look(b"12345" + data, 5, count) == (found and (found[0], found[1] + 5, *found[2:])), "somewhere else"
    if found is None:
        assert read(data, count) is None
        return None
    largest_delta, end, left_count, is_in_order = found
    assert read(data, count - left_count) == (largest_delta, end, 0, is_in_order)
    if left_count:
        following = read(data[end:], 1)
        is_cut_off = following is not None and following[2] == 1
        assert is_cut_off or left_count > FEW
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
    assert found[3]
    if count <= FEW:
        assert found[1:3] == (len(data), 0)


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


def of_lengths(*lengths: int) -> bytes:
    return b"".join(encode_record(index, 0, None, bytes(length), ()) for index, length in enumerate(lengths))


def test_of_many_records_that_differ_in_length_the_first_are_looked_into() -> None:
    data = of_lengths(*(100 + index % 7 for index in range(100)))
    found = compare(data, 100)
    assert found is not None
    assert found[2] == 100 - UNLIKE_MAX


def test_few_records_are_looked_into_whatever_their_lengths() -> None:
    lengths = range(100, 100 + FEW + 1)
    assert compare(of_lengths(*lengths), len(lengths)) == (0, len(of_lengths(*lengths)), 0, True)


def test_long_records_are_looked_into_however_many() -> None:
    lengths = [LONG_BYTES + index for index in range(2 * FEW)]
    assert compare(of_lengths(*lengths), len(lengths)) == (0, len(of_lengths(*lengths)), 0, True)


def test_a_few_records_among_many_alike_that_are_not_do_no_harm() -> None:
    lengths = ([100] * 50 + [90]) * 10
    assert compare(of_lengths(*lengths), len(lengths)) == (0, len(of_lengths(*lengths)), 0, True)
