"""The comparison of replicas' logs: equal ones pass, and each way of being different is told."""

from __future__ import annotations

from pathlib import Path

from ottla.wire.records import BatchBuilder
from tests.faults.replica_logs import batches_below, difference


def batch(base_offset: int, *values: bytes) -> bytes:
    builder = BatchBuilder(base_offset=base_offset)
    for value in values:
        builder.append(None, value, timestamp=1_700_000_000_000)
    return bytes(builder.build())


ONE, TWO, OTHER, THREE = batch(0, b"a", b"b"), batch(2, b"c"), batch(2, b"d"), batch(3, b"e", b"f")


def test_batches_come_from_all_segments_in_order_up_to_an_offset(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000003.log").write_bytes(THREE)
    (tmp_path / "00000000000000000000.log").write_bytes(ONE + TWO)
    assert batches_below(tmp_path, 5) == [ONE, TWO, THREE]
    assert batches_below(tmp_path, 4) == [ONE, TWO], "half a batch is not below"
    assert batches_below(tmp_path, 0) == []


def test_equal_logs_do_not_differ() -> None:
    assert difference({1: [ONE, TWO], 2: [ONE, TWO], 3: [ONE, TWO]}) == ""
    assert difference({1: [], 2: []}) == ""


def test_another_batch_or_none_is_a_difference() -> None:
    assert difference({1: [ONE, TWO], 2: [ONE, OTHER]}).startswith("at batch 1 of {1: 2, 2: 2}")
    assert difference({1: [ONE], 2: [ONE, TWO]}).startswith("at batch 1 of {1: 1, 2: 2}")
