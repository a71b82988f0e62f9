"""Groups live where Kafka looks for them. The numbers are Java's own (String.hashCode, Utils.abs)."""

from __future__ import annotations

import pytest

from ottla.coordinators.java_strings import group_partition, hash_map_order, java_hash, timeline_map_order


@pytest.mark.parametrize(
    ("text", "hash_code"),
    [
        ("", 0),
        ("group", 98629247),
        ("roundrobin", -128548644),
        ("polygenelubricants", -(2**31)),
        ("größe", 98762257),
        ("\U0001f600", 1772899),
    ],
)
def test_strings_hash_as_in_java(text: str, hash_code: int) -> None:
    assert java_hash(text) == hash_code % 2**32


@pytest.mark.parametrize("length", [255, 256, 257, 1000])
def test_long_strings_hash_as_in_java(length: int) -> None:
    text = "".join(chr(33 + number % 90) for number in range(length))
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) % 2**32
    assert java_hash(text) == value


def test_a_group_lives_in_the_partition_of_its_hash_without_sign() -> None:
    assert group_partition("group", 50) == 98629247 % 50
    assert group_partition("roundrobin", 50) == 128548644 % 50
    assert group_partition("polygenelubricants", 50) == 0
    assert group_partition("anything", 1) == 0


def test_small_hash_maps_keep_strings_in_the_order_of_java() -> None:
    names = ["range", "roundrobin", "sticky", "cooperative-sticky"]
    assert sorted(names, key=hash_map_order) == ["sticky", "range", "roundrobin", "cooperative-sticky"]


STATIC, CLIENT = "VJrng1cESMmQfsFt7czR0w", "client-ed97fbf6-48a6-4771-b00d-840570dd6362"


@pytest.mark.parametrize(
    ("keys", "size_max", "ordered"),
    [
        # As Kafka's own coordinator chose the leader of a group of these: both are in one slot of four, not of eight.
        (["b", STATIC, CLIENT], 3, [CLIENT, STATIC, "b"]),
        ([STATIC, CLIENT, "b"], 3, [CLIENT, STATIC, "b"]),
        ([CLIENT, STATIC, "b"], 3, [STATIC, CLIENT, "b"]),
        ([CLIENT, STATIC, "b"], 4, [STATIC, CLIENT, "b"]),
        ([CLIENT, STATIC, "b"], 5, [CLIENT, STATIC, "b"]),
        ([], 0, []),
    ],
)
def test_keys_come_in_the_order_of_kafkas_own_hash_map(keys: list[str], size_max: int, ordered: list[str]) -> None:
    assert timeline_map_order(keys, size_max) == ordered
