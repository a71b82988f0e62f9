"""The hop over record boundaries says what a plain reading of length after length says, whatever the bytes are."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import read_varint, varint
from ottla.wire.records.hop import BLOCK, BODY_BYTES_MIN, hop

# On both sides of where a length takes another byte, and of where the pattern for those that are alike ends.
LENGTHS = (6, 7, 63, 64, 65, 100, 127, 128, 300, 575, 576, 8191, 8192)


def records(lengths: list[int]) -> bytes:
    return b"".join(varint(length) + bytes(length) for length in lengths)


def one_by_one(data: bytes, position: int, count: int) -> tuple[int, int] | ErrorCode:
    """What the hop should say."""
    for left in range(count, 0, -1):
        try:
            length, body = read_varint(data, position)
        except IndexError:
            return position, left
        except KafkaError:
            return ErrorCode.INVALID_RECORD
        if length < BODY_BYTES_MIN:
            return ErrorCode.INVALID_RECORD
        position = body + length
    return position, 0


def hopped(data: bytes, position: int, count: int) -> tuple[int, int] | ErrorCode:
    try:
        return hop(data, position, count)
    except KafkaError as error:
        return error.code


@pytest.mark.parametrize("length", [*range(BODY_BYTES_MIN, 700), *range(8150, 8200)])
def test_a_block_of_any_length_is_hopped_over(length: int) -> None:
    data = records([length] * (BLOCK + 1))
    assert hop(data, 0, BLOCK + 1) == (len(data), 0)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_it_works_on_every_kind_of_bytes(kind: type) -> None:
    data = records([100] * 200)
    assert hop(kind(data), 0, 200) == (len(data), 0)


@pytest.mark.parametrize("seed", range(60))
def test_blocks_are_hopped_over_as_if_record_by_record(seed: int) -> None:
    rng = random.Random(seed)
    lengths: list[int] = []
    while len(lengths) < 150:
        lengths += [rng.choice(LENGTHS)] * rng.choice([1, 2, 5, 40, 120])
    if seed % 3 == 0:
        rng.shuffle(lengths)
    data = records(lengths)
    starts = list(accumulate((len(varint(length)) + length for length in lengths), initial=0))
    assert hop(data, 0, len(lengths)) == (len(data), 0)
    for _ in range(60):
        damaged = bytearray(data)
        damaged[rng.choice(starts[:-1]) + rng.randrange(2)] = rng.choice(
            [0, 11, 12, 13, 14, 126, 127, 128, 129, 200, 202, 255]
        )
        cut = bytes(damaged[: rng.choice([len(data), rng.randrange(len(data))])])
        begin = rng.choice([0, rng.choice(starts)])
        count = len(lengths) + rng.randint(-BLOCK, BLOCK)
        assert hopped(cut, begin, count) == one_by_one(cut, begin, count)


@pytest.mark.parametrize("first", range(0x100))
def test_the_first_two_bytes_say_the_same_with_and_without_the_table(first: int) -> None:
    for second in range(0x100):
        data = bytes([first, second]) + bytes(8200)
        assert hopped(data, 0, 1) == one_by_one(data, 0, 1)


def test_a_block_that_fails_at_its_last_record_costs_no_backtracking() -> None:
    """It would go on for longer than anybody waits if the pattern gave back what it has matched."""
    data = records([64] * (BLOCK * 100 - 1)) + b"\1" * 65
    assert hopped(data, 0, BLOCK * 100) == ErrorCode.INVALID_RECORD
