"""What a hostile peer may not do: make the codec spend memory that its bytes did not pay for.

Named after the failure classes of the protocol's history: allocation by an announced size, by an announced count, by
tagged fields, and by compression. Decompression of record batches has its own tests beside the codecs.
"""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import pytest

from ottla.wire import ErrorCode, KafkaError, decoder
from ottla.wire.catalog import messages
from ottla.wire.compression import Codec, compress, decompress
from ottla.wire.construction import blank, message_of
from ottla.wire.decoder import ELEMENTS_MAX, UNKNOWN_TAGS_MAX
from ottla.wire.framing import FrameReader, FramingError
from ottla.wire.layout import RECORDS, Array, Nested, Slot, layout, slots
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.headers import RequestHeader
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.telemetry import PushTelemetryRequest
from ottla.wire.primitives import uvarint
from ottla.wire.schema import Message, StructType
from tests.wire.fuzz_inputs import message_samples, mutate
from tests.wire.parcel import Note, Parcel

SMALL_FRAME_BYTES = 100
SMALL_FRAME_MEMORY_BYTES_MAX = 64 * 1024

CASES = [(m, v) for m in messages().values() for v in range(m.versions.low, m.versions.high + 1)]


def peak_memory_bytes(action: Callable[[], object]) -> int:
    """What the action took at its worst, results included."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refusal(message: type[Message], data: bytes, version: int) -> KafkaError:
    with pytest.raises(KafkaError) as refused:
        message.decode(data, version)
    return refused.value


def attempt(message: type[Message], data: bytes, version: int) -> None:
    try:
        message.decode(data, version)
    except KafkaError:
        return


# Class 1: allocation by an announced size


def test_a_frame_that_announces_gigabytes_is_refused_before_a_byte_of_it_is_kept() -> None:
    def receive() -> None:
        reader = FrameReader(frame_bytes_max=65536)
        reader.receive_data(struct.pack(">i", 2**31 - 1) + b"x")
        with pytest.raises(FramingError):
            list(reader.frames())

    assert peak_memory_bytes(receive) < SMALL_FRAME_MEMORY_BYTES_MAX


def test_a_frame_within_the_limit_costs_what_has_arrived_and_not_what_was_announced() -> None:
    def receive() -> None:
        reader = FrameReader(frame_bytes_max=100 * 1024 * 1024)
        for byte in struct.pack(">i", 100 * 1024 * 1024) + b"beginning":
            reader.receive_data(bytes([byte]))
            assert list(reader.frames()) == []

    assert peak_memory_bytes(receive) < SMALL_FRAME_MEMORY_BYTES_MAX


@pytest.mark.parametrize("announced", [2**31 - 1, 2**31, 2**32 - 1])
def test_a_string_or_bytes_of_gigabytes_is_refused_before_it_is_allocated(announced: int) -> None:
    assert "bytes long" in refusal(Note, uvarint(announced) + b"x" * 50, 1).message
    token = bytes(16) + bytes(6) + uvarint(announced) + b"x" * 50
    assert "metrics is" in refusal(PushTelemetryRequest, token, 0).message
    assert peak_memory_bytes(lambda: attempt(PushTelemetryRequest, token, 0)) < SMALL_FRAME_MEMORY_BYTES_MAX


# Class 2: allocation by an announced count


@pytest.mark.parametrize("count", [60, 2**20, 2**31 - 1])
@pytest.mark.parametrize(("version", "form"), [(0, struct.Struct(">i").pack), (9, lambda count: uvarint(count + 1))])
def test_an_array_may_not_announce_more_elements_than_bytes_are_left(
    version: int, form: Callable[[int], bytes], count: int
) -> None:
    data = form(count) + bytes(50)
    assert refusal(MetadataRequest, data, version).message == f"topics has {count} elements, 50 bytes are left"
    assert peak_memory_bytes(lambda: attempt(MetadataRequest, data, version)) < SMALL_FRAME_MEMORY_BYTES_MAX


def test_an_array_of_structs_is_measured_by_the_smallest_struct() -> None:
    """50 bytes hold 25 topics of version 9 at most: a name of one byte, a tag count of one byte."""
    assert refusal(MetadataRequest, uvarint(27) + bytes(51), 9).message == "topics has 26 elements, 51 bytes are left"


def test_an_array_of_numbers_is_measured_by_their_width() -> None:
    head = Parcel(sender="").encode(0)
    route = len(head) - 16  # before aliases, pages and records
    assert head[route : route + 4] == bytes(4)
    data = head[:route] + struct.pack(">i", 4) + bytes(15)
    assert refusal(Parcel, data, 0).message == "route has 4 elements, 15 bytes are left"


def test_a_message_has_a_budget_of_elements_however_many_bytes_it_has() -> None:
    """Each element costs many times its bytes: a frame of 100 MB must not become 20 GB."""
    names = b"\x02x\x00" * (ELEMENTS_MAX + 1)
    data = uvarint(ELEMENTS_MAX + 2) + names + bytes(4)
    peak = peak_memory_bytes(lambda: attempt(MetadataRequest, data, 9))
    assert refusal(MetadataRequest, data, 9).code is ErrorCode.INVALID_REQUEST
    assert peak < SMALL_FRAME_MEMORY_BYTES_MAX


# Class 3: tagged fields


@cache
def tagged_fields(count: int, first: int = 0) -> bytes:
    """So many empty tagged fields, each as short as its tag allows."""
    return uvarint(count) + b"".join(uvarint(tag) + b"\x00" for tag in range(first, first + count))


def header_with(tags: bytes) -> bytes:
    return struct.pack(">hhih", 18, 3, 1, -1) + tags


@pytest.mark.parametrize("count", [UNKNOWN_TAGS_MAX + 1, 1000, 500_000])
def test_a_request_header_full_of_tagged_fields_is_refused_at_no_cost(count: int) -> None:
    """Twenty million fields of two bytes in the header of an ApiVersions request, before anybody was asked for a name.

    They need not even be there: the announced number is enough to refuse.
    """
    rising = header_with(tagged_fields(count))
    same = header_with(uvarint(count) + b"\x00\x00" * count)
    absent = header_with(uvarint(count))
    for data in (rising, same, absent):
        refused = refusal(RequestHeader, data, 2)
        assert refused.code is ErrorCode.INVALID_REQUEST
        assert f"{count} tagged fields" in refused.message
        assert peak_memory_bytes(lambda data=data: attempt(RequestHeader, data, 2)) < SMALL_FRAME_MEMORY_BYTES_MAX  # type: ignore[misc]


def test_the_same_holds_for_the_body_that_follows() -> None:
    body = b"\x02x\x02y"
    for count in (UNKNOWN_TAGS_MAX + 1, 500_000):
        assert f"{count} tagged" in refusal(ApiVersionsRequest, body + tagged_fields(count), 3).message
    accepted = ApiVersionsRequest.decode(body + tagged_fields(UNKNOWN_TAGS_MAX), 3)
    assert len(accepted.unknown_tags) == UNKNOWN_TAGS_MAX


def test_a_struct_that_knows_tags_takes_as_many_unknown_ones() -> None:
    head = Parcel(sender="").encode(3)[:-1]
    assert len(Parcel.decode(head + tagged_fields(UNKNOWN_TAGS_MAX, 1000), 3).unknown_tags) == UNKNOWN_TAGS_MAX
    assert "tagged fields in one struct" in refusal(Parcel, head + tagged_fields(500, 1000), 3).message


def test_tagged_fields_that_repeat_are_refused() -> None:
    assert "tagged field 0 after 0" in refusal(RequestHeader, header_with(b"\x02\x00\x00\x00\x00"), 2).message


def test_tagged_fields_spread_over_many_structs_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 in each of many topics: every struct keeps to its limit, and the message as a whole does not."""
    monkeypatch.setattr(decoder, "ELEMENTS_MAX", 10 * UNKNOWN_TAGS_MAX)
    decode = decoder.compile_decoder(MetadataRequest, 12)
    topic = bytes(16) + b"\x02x" + tagged_fields(UNKNOWN_TAGS_MAX)
    for topics, accepted in ((9, True), (10, False)):
        data = uvarint(topics + 1) + topic * topics + bytes(4)
        with nullcontext() if accepted else pytest.raises(KafkaError, match="more than 640 elements"):
            decode(data, 0, len(data))


# Class 5: decompression of what is not a record batch


@pytest.mark.parametrize("codec", [codec for codec in Codec if codec is not Codec.NONE], ids=lambda codec: codec.name)
def test_pushed_telemetry_is_bounded_by_what_it_decompresses_to(codec: Codec) -> None:
    """telemetry.max.bytes limits the compressed size only; a megabyte may hold gigabytes (KIP-714)."""
    telemetry_bytes_max = 1024 * 1024
    bomb = compress(codec, bytes(20 * telemetry_bytes_max))
    assert len(bomb) < telemetry_bytes_max
    push = PushTelemetryRequest(
        client_instance_id=bytes(16), subscription_id=1, terminating=False, compression_type=codec, metrics=bomb
    )
    received = PushTelemetryRequest.decode(push.encode(0), 0)

    def read() -> None:
        with pytest.raises(KafkaError, match="more than the 1048576 that are allowed"):
            decompress(received.compression_type, received.metrics, bytes_max=telemetry_bytes_max)

    assert peak_memory_bytes(read) < 4 * telemetry_bytes_max


# All of them: a small frame costs little


def small_frames(message: type[Message], version: int, rng: random.Random) -> Iterator[bytes]:
    """Inputs of at most 100 bytes: uniform ones that make the most of short elements, and spoilt samples."""
    for byte in (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF):
        yield bytes([byte]) * SMALL_FRAME_BYTES
    for count in (1, 10, 48, 90, 2**31 - 1):
        yield (struct.pack(">i", count) + bytes(SMALL_FRAME_BYTES))[:SMALL_FRAME_BYTES]
        yield (uvarint(count + 1) + bytes([1]) * SMALL_FRAME_BYTES)[:SMALL_FRAME_BYTES]
    samples = list(message_samples(message, version, rng))
    for sample in samples:
        yield sample[:SMALL_FRAME_BYTES]
        for _ in range(4):
            spoilt = bytearray(sample[:SMALL_FRAME_BYTES])
            mutate(spoilt, rng, samples)
            yield bytes(spoilt[:SMALL_FRAME_BYTES])
        # One count made as large as the rest of the frame could bear.
        for at in range(0, min(len(sample), SMALL_FRAME_BYTES), 3):
            yield (sample[:at] + bytes([SMALL_FRAME_BYTES - at]) + bytes([1]) * SMALL_FRAME_BYTES)[:SMALL_FRAME_BYTES]


def array_paths(struct: StructType, message: type[Message], version: int) -> Iterator[tuple[Slot, ...]]:
    """Every array of a message, with the arrays it lies in."""
    at = layout(struct, message, version)
    for slot in (*at.present, *at.tagged):
        if isinstance(slot.type, Array):
            yield (slot,)
            if isinstance(slot.type.element, Nested):
                inner = array_paths(slot.type.element.struct, message, version)
                yield from ((slot, *path) for path in inner)


def crammed(struct: StructType, path: tuple[Slot, ...], count: int) -> Any:
    """A struct in which the array at the end of the path has so many elements, and nothing else has any."""
    made = blank(struct)
    for slot in slots(struct, message_of(struct), message_of(struct).versions.high):
        if slot.type is RECORDS:
            setattr(made, slot.name, b"")
    if path:
        array, *rest = path
        assert isinstance(array.type, Array)
        element = array.type.element
        for_each = range(1 if rest else count)
        if isinstance(element, Nested):
            setattr(made, array.name, [crammed(element.struct, tuple(rest), count) for _ in for_each])
        else:
            setattr(made, array.name, [element.zero for _ in for_each])
    return made


def crammed_frames(message: type[Message], version: int, size_bytes: int) -> Iterator[bytes]:
    """Frames of about that size that buy as many elements as their bytes can pay for."""
    for path in array_paths(message, message, version):
        none, one, two = (len(crammed(message, path, count).encode(version)) for count in (0, 1, 2))
        if two < size_bytes:
            count = (size_bytes - none - 5) // (two - one)
            yield crammed(message, path, count).encode(version)


@pytest.mark.parametrize("message", messages().values(), ids=messages().keys())
def test_a_frame_of_100_bytes_never_costs_more_than_64_kilobytes(message: type[Message]) -> None:
    for version in range(message.versions.low, message.versions.high + 1):
        frames = list(small_frames(message, version, random.Random(f"{message.__name__} {version}")))
        frames += crammed_frames(message, version, SMALL_FRAME_BYTES)
        attempt(message, b"", version)  # compiles: that is paid once
        tracemalloc.start()
        try:
            for data in frames:
                cost = memory_cost(message, data, version)
                if cost > SMALL_FRAME_MEMORY_BYTES_MAX:
                    # A table of the interpreter may have grown just then, such as that of its names: once, for all.
                    cost = memory_cost(message, data, version)
                assert cost <= SMALL_FRAME_MEMORY_BYTES_MAX, f"v{version}: {data.hex()} cost {cost} bytes"
        finally:
            tracemalloc.stop()


def memory_cost(message: type[Message], data: bytes, version: int) -> int:
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    attempt(message, data, version)
    return tracemalloc.get_traced_memory()[1] - before
