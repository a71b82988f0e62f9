"""The map of keys: the last offset wins, and memory is bounded."""

from __future__ import annotations

from random import Random

import pytest

from ottla.storage.cleaner.key_map import BUCKET_SLOTS, NOT_FOUND, SLOT_BYTES, KeyMap


def test_the_last_offset_of_a_key_is_remembered() -> None:
    key_map = KeyMap(1 << 12)
    key_map.put(b"a", 1)
    key_map.put(b"", 2)
    key_map.put(b"a", 3)
    assert [key_map.get(key) for key in (b"a", b"", b"b")] == [3, 2, NOT_FOUND]
    assert (key_map.count, key_map.latest_offset) == (2, 3)


@pytest.mark.parametrize("load_factor", [0.5, 0.9, 1.0])
def test_a_full_map_finds_every_key_and_no_other(load_factor: float) -> None:
    """At these sizes many buckets overflow into the next one, the last one into the first."""
    random = Random(7)
    key_map = KeyMap(20 * BUCKET_SLOTS * SLOT_BYTES, load_factor)
    expected: dict[bytes, int] = {}
    for offset in range(10 * key_map.count_max):
        if key_map.is_full:
            break
        key = random.randbytes(random.randint(0, 12))
        key_map.put(key, offset)
        expected[key] = offset
    assert key_map.is_full
    assert key_map.count == len(expected) == key_map.count_max
    assert all(key_map.get(key) == offset for key, offset in expected.items())
    assert all(key_map.get(b"other %d" % number) == NOT_FOUND for number in range(1000))


def test_a_full_map_still_takes_what_it_knows() -> None:
    key_map = KeyMap(2 * SLOT_BYTES)
    key_map.put(b"a", 1)
    assert key_map.is_full
    key_map.put(b"a", 2)
    assert key_map.get(b"a") == 2
    with pytest.raises(AssertionError, match="full"):
        key_map.put(b"b", 3)


def test_a_map_for_few_keys_is_small_and_one_for_many_no_larger_than_allowed() -> None:
    few, many = KeyMap(1 << 30, keys_max=10), KeyMap(1 << 20, keys_max=1 << 40)
    assert few.count_max >= 10
    assert len(few._hashes) == BUCKET_SLOTS * 16
    assert many.count_max == (1 << 20) // SLOT_BYTES * 9 // 10
    # Rounded up to whole buckets; the counts of the buckets come on top.
    size_bytes = len(many._hashes) + len(many._offsets) * many._offsets.itemsize
    assert size_bytes < (1 << 20) + BUCKET_SLOTS * SLOT_BYTES


def test_a_map_that_could_not_hold_one_key_is_refused() -> None:
    with pytest.raises(ValueError, match="24 bytes do not hold one key"):
        KeyMap(SLOT_BYTES)
