"""Where mutated input comes from: valid samples for each target, and ways to spoil them.

`Inputs(seed, ...).make(index)` is a function of seed and index alone. Bytes are flipped, cut off, put in, taken out,
exchanged between samples, and lengths are made to lie. Judges nothing and runs nothing: fuzz.py does.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterator

from ottla.wire.compression import Codec, compress
from ottla.wire.primitives import uvarint
from ottla.wire.records import (
    BatchBuilder,
    EndTransactionMarker,
    LegacyEntry,
    RecordBatch,
    TimestampType,
    end_transaction_batch,
    read_legacy_entry,
)
from ottla.wire.schema import Message
from tests.wire.values import Shape, random_message

SMALL_BYTES_MAX = 4096
MUTATIONS_MAX = 4
# Every target beyond the decoders is drawn this often for each time that one decoder is.
OTHERS_WEIGHT = 16

LENGTH_LIES = (-(2**31), -2, -1, 0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 2**31 - 1)
VARINT_LIES = (*(uvarint(n) for n in (0, 1, 0x7F, 0x80, 0x8000, 0x8001, 2**31 - 1, 2**32 - 1)), b"\xff" * 10)


class Inputs:
    """The inputs of one seed. `others` are the targets that are not decoders: their names, in the order of numbers."""

    def __init__(self, seed: int, others: list[str], decoders: list[tuple[type[Message], int]]) -> None:
        self.seed = seed
        self.others = others
        self.decoders = decoders
        self.samples: dict[int, list[bytes]] = {}

    def make(self, index: int) -> bytes:
        rng = random.Random(self.seed << 64 | index)
        number = rng.randrange(len(self.others) * OTHERS_WEIGHT + len(self.decoders))
        target = number % len(self.others) if number < len(self.others) * OTHERS_WEIGHT else self._decoder(number)
        data = bytearray(rng.choice(self.samples_of(target)))
        if rng.random() < 0.01:
            return target.to_bytes(2, "big") + bytes(data)
        for _ in range(rng.randint(1, MUTATIONS_MAX)):
            mutate(data, rng, self.samples_of(target))
        return target.to_bytes(2, "big") + bytes(data)

    def _decoder(self, number: int) -> int:
        return number - len(self.others) * (OTHERS_WEIGHT - 1)

    def samples_of(self, target: int) -> list[bytes]:
        made = self.samples.get(target)
        if made is None:
            rng = random.Random(f"{self.seed} samples of {target}")
            if target < len(self.others):
                made = list(other_samples(self.others[target], rng))
            else:
                made = list(message_samples(*self.decoders[target - len(self.others)], rng))
            self.samples[target] = made
        return made


def message_samples(message: type[Message], version: int, rng: random.Random) -> Iterator[bytes]:
    flexible = version in message.flexible
    for number, shape in enumerate((Shape.DEFAULT, Shape.NULL, Shape.LOW, Shape.HIGH, Shape.ANY, Shape.ANY)):
        drawn = random_message(message, version, rng, shape=shape, unknown_tags=flexible and number == 5)
        yield drawn.encode(version)


def other_samples(name: str, rng: random.Random) -> Iterator[bytes]:
    match name:
        case "batches" | "records":
            yield from (sample_batch(codec, rng) for codec in Codec)
            marker = EndTransactionMarker(is_commit=True, coordinator_epoch=3)
            ending = end_transaction_batch(marker, producer_id=1, producer_epoch=0, timestamp=5)
            yield ending + sample_batch(Codec.NONE, rng)
        case "log":
            yield sample_batch(Codec.NONE, rng) + legacy_message(1, b"a key", b"a value") + sample_batch(Codec.LZ4, rng)
        case "legacy":
            for magic in (0, 1):
                plain = legacy_message(magic, b"a key", b"a value") + legacy_message(magic, None, b"a value")
                yield plain
                yield legacy_wrapper(magic, plain)
        case "compressed records":
            yield bytes(RecordBatch(memoryview(sample_batch(Codec.NONE, rng))).records_data)
        case "compressed legacy":
            yield legacy_message(1, None, b"a value") + legacy_message(1, b"a key", b"")
            yield legacy_message(0, None, b"a value")
        case "frames":
            for step in (0, 3, 255):
                frames = b"".join(struct.pack(">i", size) + rng.randbytes(size) for size in (0, 5, 300))
                yield bytes([step]) + frames
        case _:
            codec = Codec.LZ4 if name == "legacy lz4" else Codec[name.upper()]
            yield compress(codec, b"")
            yield compress(codec, b"some text that repeats, some text that repeats" * 20)
            yield compress(codec, rng.randbytes(200))
            yield compress(codec, bytes(200_000))


def sample_batch(codec: Codec, rng: random.Random) -> bytes:
    builder = BatchBuilder(codec=codec, producer_id=7, producer_epoch=1, base_sequence=0)
    builder.append(key=b"key", value=b"value", timestamp=1000, headers=[(b"h", b"1"), (b"n", None)])
    builder.append(key=None, value=rng.randbytes(100), timestamp=1001)
    builder.append(key=b"", value=None, timestamp=999)
    return builder.build()


def compressed_batch(codec: Codec, records: bytes) -> bytes:
    """A batch that holds three records, if these bytes are such."""
    batch = bytearray(sample_batch(codec, random.Random(0)))
    header, body = batch[:61], compress(codec, records)
    struct.pack_into(">i", header, 8, 61 - 12 + len(body))
    return bytes(header + body)


def legacy_message(magic: int, key: bytes | None, value: bytes | None, attributes: int = 0) -> bytes:
    fields = [struct.pack(">bb", magic, attributes)]
    if magic:
        fields.append(struct.pack(">q", 1000))
    for part in (key, value):
        fields.append(struct.pack(">i", -1 if part is None else len(part)) + (part or b""))
    checked = b"".join(fields)
    return struct.pack(">qiI", 5, 4 + len(checked), zlib.crc32(checked)) + checked


def legacy_wrapper(magic: int, inner: bytes) -> bytes:
    codec = Codec.GZIP
    return legacy_message(magic, None, compress(codec, inner), attributes=int(codec))


def legacy_entries(view: memoryview) -> Iterator[LegacyEntry]:
    position = 0
    while (entry := read_legacy_entry(view, position)) is not None:
        assert entry.timestamp_type in TimestampType
        yield entry
        position = entry.end


def mutate(data: bytearray, rng: random.Random, samples: list[bytes]) -> None:
    """Spoil the data in one way."""
    size = len(data)
    at = rng.randrange(size + 1)
    until = min(size, at + rng.randint(1, 8))
    match rng.randrange(9):
        case 0 if at < size:
            data[at] ^= 1 << rng.randrange(8)
        case 1 if at < size:
            data[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
        case 2:
            del data[at:]
        case 3:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        case 4:
            del data[at:until]
        case 5:
            data[at:at] = data[at:until] * rng.choice((1, 2, 50))
        case 6:
            other = rng.choice(samples)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        case 7:
            form, mask = rng.choice(((">I", 0xFFFFFFFF), (">H", 0xFFFF)))
            lie = struct.pack(form, rng.choice((*LENGTH_LIES, size, size - at)) & mask)
            data[at : at + len(lie)] = lie
        case _:
            data[at : at + 1] = rng.choice(VARINT_LIES)
