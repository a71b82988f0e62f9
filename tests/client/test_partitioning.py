"""Keys go where the Java producer sends them; records without a key stay together."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from ottla.client.partitioning import Placement, StickyPartitioner, murmur2, partition_for_key
from tests import jvm

SOURCE = Path(__file__).parent / "java" / "Murmur2.java"

# What Java's Utils.murmur2 returned; the last test compares many more with it.
KNOWN = {
    b"": 275646681,
    b"a": -1563381124,
    b"21": -973932308,
    b"abc": 479470107,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"\xff\xfe\xfd\xfc\xfb": 524068735,
}


@pytest.mark.parametrize("key", KNOWN, ids=repr)
def test_murmur2_is_that_of_java(key: bytes) -> None:
    assert murmur2(key) == KNOWN[key]


def test_a_key_has_its_partition() -> None:
    assert partition_for_key(b"foobar", 10) == (KNOWN[b"foobar"] & 0x7FFFFFFF) % 10
    assert {partition_for_key(str(number).encode(), 3) for number in range(50)} == {0, 1, 2}


def test_records_without_a_key_stay_until_a_batch_is_full() -> None:
    partitioner = StickyPartitioner(Random(3), sticky_bytes=100)
    chosen = [partitioner.next(range(1000), 25) for _ in range(40)]
    groups = [set(chosen[start : start + 4]) for start in range(0, 40, 4)]
    assert all(len(group) == 1 for group in groups)
    assert len(set.union(*groups)) > 5


def test_a_partition_that_lost_its_leader_is_left_at_once() -> None:
    partitioner = StickyPartitioner(Random(3))
    first = partitioner.next([0, 1], 1)
    assert partitioner.next([1 - first], 1) == 1 - first


def test_a_record_goes_by_its_key_or_with_its_neighbours() -> None:
    placement = Placement(10, [4], Random(3))
    assert placement.partition(b"foobar", 1) == partition_for_key(b"foobar", 10)
    assert placement.partition(b"", 1) == partition_for_key(b"", 10)
    assert placement.partition(None, 1) == 4


@pytest.mark.jvm
def test_five_thousand_keys_hash_as_in_java() -> None:
    random = Random(20)
    keys = [*KNOWN, *(random.randbytes(random.randrange(40)) for _ in range(5000))]
    classpath = jvm.kafka_clients_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classpath}:{classes}", "Murmur2") as process:
        answered, _ = process.communicate("".join(f"{key.hex()}\n" for key in keys))
    assert process.returncode == 0
    hashes = [line.split() for line in answered.splitlines()]
    assert [int(hashed) for hashed, _ in hashes] == [murmur2(key) for key in keys]
    assert [int(partition) for _, partition in hashes] == [partition_for_key(key, 7) for key in keys]
