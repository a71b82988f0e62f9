"""Mutated input for everything in `ottla.wire` that reads what a peer or a disk gives it.

    python -m tests.wire.fuzz --count 1000000 --seed 1

An input is two bytes that choose a target and the bytes that the target reads. Input number I of seed S is always the
same, so a failure is told with the one line that makes it again. Only the declared errors may come out of a target,
and a sample of inputs runs under a memory bound. What is fed in is fuzz_inputs.py's business; this file knows the
targets and judges.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable

from ottla.wire import KafkaError
from ottla.wire.catalog import messages
from ottla.wire.compression import Codec, decompress
from ottla.wire.framing import FrameReader, FramingError
from ottla.wire.records import (
    LegacyEntry,
    RecordBatch,
    check_records,
    iter_batches,
    iter_legacy_records,
    iter_records,
    parse_end_transaction,
    records_of,
    scan,
)
from ottla.wire.schema import Message
from tests.wire import fuzz_inputs

OUTPUT_BYTES_MAX = 1 << 20
FRAME_BYTES_MAX = 1000

# What a message may cost: 64 KB for the smallest of frames, and then no more than this for each byte of it.
MEMORY_BYTES_MIN = 64 * 1024
MEMORY_BYTES_PER_BYTE = 128
# Beyond a message: what may come out of a decompressor, twice while it is joined, and the codec's own window.
DECOMPRESSED_MEMORY_BYTES = 4 * OUTPUT_BYTES_MAX
MEMORY_SAMPLE_EVERY = 64

Target = Callable[[bytes], None]


class FuzzFailure(Exception):
    """A target raised what it may not, or took more memory than it may."""


def decoder_target(message: type[Message], version: int) -> Target:
    def decode(data: bytes) -> None:
        decoded = message.decode(data, version)
        if len(data) > fuzz_inputs.SMALL_BYTES_MAX:
            return  # what is not UTF-8 grows by replacement, and a string may become too long to be sent
        encoded = decoded.encode(version)
        assert message.decode(encoded, version).encode(version) == encoded

    return decode


def read_batches(data: bytes) -> None:
    for batch in iter_batches(data):
        batch.is_intact()
        repr(batch)
        check_records(batch, bytes_max=OUTPUT_BYTES_MAX)


def read_records(data: bytes) -> None:
    for batch in iter_batches(data):
        for record in iter_records(batch, bytes_max=OUTPUT_BYTES_MAX, record_bytes_max=OUTPUT_BYTES_MAX):
            if batch.is_control:
                parse_end_transaction(record)


def read_log(data: bytes) -> None:
    for entry in scan(data):
        assert isinstance(entry, RecordBatch | LegacyEntry)
        for _ in records_of(entry, bytes_max=OUTPUT_BYTES_MAX):
            pass


def read_legacy(data: bytes) -> None:
    view = memoryview(data)
    for entry in fuzz_inputs.legacy_entries(view):
        for _ in iter_legacy_records(entry, bytes_max=OUTPUT_BYTES_MAX):
            pass


def read_compressed_records(data: bytes) -> None:
    """The input is what a codec puts out: damage behind a compression that is whole."""
    for codec in Codec:
        try:
            read_records(fuzz_inputs.compressed_batch(codec, data))
        except KafkaError:
            continue


def read_compressed_legacy(data: bytes) -> None:
    for magic in (0, 1):
        try:
            read_legacy(fuzz_inputs.legacy_wrapper(magic, data))
        except KafkaError:
            continue


def decompressor_target(codec: Codec) -> Target:
    def read(data: bytes) -> None:
        output = decompress(codec, data, bytes_max=OUTPUT_BYTES_MAX)
        assert len(output) <= OUTPUT_BYTES_MAX

    return read


def read_legacy_lz4(data: bytes) -> None:
    decompress(Codec.LZ4, data, bytes_max=OUTPUT_BYTES_MAX, legacy_checksum=True)


def read_frames(data: bytes) -> None:
    """The first byte says how the rest is cut into the pieces that a socket would give."""
    step = 1 + data[0] if data else 1
    reader = FrameReader(FRAME_BYTES_MAX)
    taken_bytes = 0
    for start in range(1, len(data), step):
        reader.receive_data(data[start : start + step])
        for frame in reader.frames():
            assert 0 <= frame.start <= frame.end <= len(frame.data)
            taken_bytes += 4 + frame.end - frame.start
    assert taken_bytes + reader.pending_bytes == max(0, len(data) - 1)


DECODERS = [(m, v) for m in messages().values() for v in range(m.versions.low, m.versions.high + 1)]
OTHERS: dict[str, Target] = {
    "batches": read_batches,
    "records": read_records,
    "log": read_log,
    "legacy": read_legacy,
    "compressed records": read_compressed_records,
    "compressed legacy": read_compressed_legacy,
    "frames": read_frames,
    "legacy lz4": read_legacy_lz4,
    **{codec.name.lower(): decompressor_target(codec) for codec in Codec},
}
NAMES = [*OTHERS, *(f"{message.__name__} v{version}" for message, version in DECODERS)]
TARGETS = [*OTHERS.values(), *(decoder_target(message, version) for message, version in DECODERS)]


def fuzz_one(data: bytes) -> bool:
    """Run one input. True if it was accepted, False if it was refused as it should be; anything else is raised."""
    target = TARGETS[int.from_bytes(data[:2], "big") % len(TARGETS)]
    try:
        target(data[2:])
    except (KafkaError, FramingError):
        return False
    return True


def memory_bytes_max(data: bytes) -> int:
    number = int.from_bytes(data[:2], "big") % len(TARGETS)
    messages_only = MEMORY_BYTES_MIN + MEMORY_BYTES_PER_BYTE * max(0, len(data) - 102)
    return messages_only if number >= len(OTHERS) else messages_only + DECOMPRESSED_MEMORY_BYTES


def fuzz_one_within_bounds(data: bytes) -> bool:
    """Run one input and hold it to its memory bound. The first run pays for compiling and is not counted."""
    accepted = fuzz_one(data)
    tracemalloc.start()
    try:
        fuzz_one(data)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    if peak_bytes > memory_bytes_max(data):
        raise MemoryError(f"{len(data) - 2} bytes cost {peak_bytes}, at most {memory_bytes_max(data)} are allowed")
    return accepted


def run(seed: int, first: int, count: int, *, show: Callable[[int, int], None] | None = None) -> int:
    """Run inputs `first` and on; return how many were accepted. FuzzFailure says how to do it again."""
    accepted = 0
    inputs = fuzz_inputs.Inputs(seed, list(OTHERS), DECODERS)
    for index in range(first, first + count):
        data = inputs.make(index)
        try:
            accepted += fuzz_one(data) if index % MEMORY_SAMPLE_EVERY else fuzz_one_within_bounds(data)
        except Exception as error:
            name = NAMES[int.from_bytes(data[:2], "big") % len(TARGETS)]
            again = f"python -m tests.wire.fuzz --seed {seed} --first {index} --count 1"
            raise FuzzFailure(f"{name}: {error!r}\nagain: {again}\ninput: {data.hex()[:2000]}") from error
        if show is not None:
            show(index - first + 1, accepted)
    return accepted


def main() -> None:
    parser = argparse.ArgumentParser(description="Feed mutated input to all decoders.")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    started = time.monotonic()

    def show(done: int, accepted: int) -> None:
        if done % 20_000 and done != options.count:
            return
        rate = done / (time.monotonic() - started)
        line = f"{done:>9} inputs, {accepted} accepted, {done - accepted} refused, {rate:.0f}/s"
        sys.stdout.write(f"seed {options.seed}: {line}\n")
        sys.stdout.flush()

    run(options.seed, options.first, options.count, show=show)
    sys.stdout.write(f"{options.count} inputs on {len(TARGETS)} targets, nothing escaped\n")


if __name__ == "__main__":
    main()
