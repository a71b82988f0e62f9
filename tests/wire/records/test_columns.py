"""Records that are alike are looked at by columns, and what is said of them is true."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.wire.records import look as looking
from ottla.wire.records.builder import encode_record
from ottla.wire.records.columns import OFFSETS_ALIKE
from ottla.wire.records.look import FEW, look
from tests.wire.records.test_look import compare


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
    found = compare(data, 9000)
    assert found is not None
    assert found[3] is False


def test_offsets_that_begin_anew_where_their_bytes_do() -> None:
    """The first two bytes of an offset are those of one that is so much smaller."""
    data = alike(2 * OFFSETS_ALIKE) + alike(OFFSETS_ALIKE, OFFSETS_ALIKE)
    found = compare(data, 3 * OFFSETS_ALIKE)
    assert found is not None
    assert found[3] is False


@pytest.mark.parametrize(
    "deltas", [[5, 5, 5, 9, 5, 5], [-1, -2, -1, -3], [63, 62, 61], [64, 200, 100, 199], [-70, -65, -90]]
)
def test_the_largest_delta_is_found_wherever_it_is(deltas: list[int]) -> None:
    data = b"".join(encode_record(index, delta, b"k", b"v", ()) for index, delta in enumerate(deltas * 10))
    found = compare(data, 10 * len(deltas))
    assert found is not None
    assert found[0] == max(deltas)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each search for others alike has found."""
    found: list[int] = []
    search = looking.alike

    def counted(*given: Any) -> tuple[int, int]:
        fitting = search(*given)
        found.append(fitting[0])
        return fitting

    monkeypatch.setattr(looking, "alike", counted)
    return found


def test_records_of_one_size_are_taken_together(searches: list[int]) -> None:
    """Or the look would cost what it may not."""
    assert look(alike(9000), 0, 9000) is not None
    assert len(searches) < 10
    assert sum(searches) >= 9000 - 2 * len(searches) - FEW
