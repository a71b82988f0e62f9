"""Room ahead of a log: an eighth of what it holds, within bounds, and none where there is little left."""

from __future__ import annotations

import pytest

from ottla.storage.room_ahead import room_ahead

MB = 1 << 20
PLENTY = 1 << 40


@pytest.mark.parametrize(
    ("size_bytes", "free_bytes", "expected"),
    [
        (8 * MB, PLENTY, MB),
        (32 * MB, PLENTY, 4 * MB),
        (1024 * MB, PLENTY, 8 * MB),
        (8 * MB, 100 * MB, MB),
        (8 * MB, 100 * MB - 1, 0),
        (1024 * MB, 800 * MB - 1, 0),
    ],
)
def test_it_is_an_eighth_within_bounds_of_a_disk_with_a_hundred_times_that(
    size_bytes: int, free_bytes: int, expected: int
) -> None:
    assert room_ahead(size_bytes, free_bytes) == expected
