"""Damaged batches and messages: KafkaError or records, nothing else, and no memory beyond the bound."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from ottla.wire.compression import Codec
from ottla.wire.errors import KafkaError
from ottla.wire.records import (
    RecordBatch,
    check_records,
    iter_batches,
    iter_legacy_records,
    iter_records,
    parse_end_transaction,
    read_entry,
    read_legacy_entry,
    scan,
)
from tests.wire.mutations import mutations
from tests.wire.records.samples import RECORDS, batch, message, wrapper

SEED = 20261116
BYTES_MAX = 256 * 1024
INPUTS = [3000, pytest.param(200_000, marks=pytest.mark.soak)]

BATCHES = [batch(codec=codec) for codec in Codec] + [batch(RECORDS[:1]) + batch(RECORDS[1:3])]
MESSAGES = [message(0, b"k", b"v", magic=magic) for magic in (0, 1)] + [
    wrapper(1, message(0, b"k", b"v", magic=magic) + message(1, None, b"w", magic=magic), codec, magic=magic)
    for magic in (0, 1)
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
]


def bounded(samples: Sequence[bytes], count: int, peak_bytes_max: int) -> Iterator[bytes]:
    """Damaged samples, with an eye on the memory that each takes: a tenth of them is measured, which is slow."""
    for number, damaged in enumerate(mutations(samples, seed=SEED, count=count)):
        if number % 10:
            yield damaged
            continue
        tracemalloc.start()
        yield damaged
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < peak_bytes_max, damaged.hex()


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_damaged_records_field_is_refused_or_read(inputs: int) -> None:
    for damaged in bounded(BATCHES, inputs, 3 * BYTES_MAX):
        with suppress(KafkaError):
            for found in iter_batches(damaged):
                read_all(found)


def read_all(found: RecordBatch) -> None:
    found.is_intact()
    assert found.end <= len(found.view)
    with suppress(KafkaError):
        check_records(found, bytes_max=BYTES_MAX)
    with suppress(KafkaError):
        for record in iter_records(found, bytes_max=BYTES_MAX):
            assert found.base_offset <= record.offset <= found.last_offset
            with suppress(KafkaError):
                parse_end_transaction(record)


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_damaged_message_set_is_refused_or_read(inputs: int) -> None:
    for damaged in bounded(MESSAGES, inputs, 3 * BYTES_MAX):
        with suppress(KafkaError):
            entry = read_legacy_entry(memoryview(damaged))
            if entry is not None:
                list(iter_legacy_records(entry, bytes_max=BYTES_MAX))


@pytest.mark.parametrize("inputs", INPUTS)
def test_a_walk_through_a_damaged_file_raises_nothing(inputs: int) -> None:
    for damaged in bounded([BATCHES[0] + MESSAGES[2] + BATCHES[4]], inputs, BYTES_MAX):
        end = 0
        for entry in scan(damaged):
            assert entry.start == end
            end = entry.end
        assert end <= len(damaged)
        with suppress(KafkaError):
            read_entry(memoryview(damaged), end)
