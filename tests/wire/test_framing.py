"""Frames come out whole, wherever the stream was cut, and an announcement costs nothing."""

from __future__ import annotations

import struct
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire.framing import (
    PREFIX_BYTES,
    STAY_BYTES_MIN,
    WINDOW_BYTES_MAX,
    WINDOW_BYTES_MIN,
    Frame,
    FrameReader,
    FramingError,
    frame,
)

KB = 1024


def framed(payload: bytes) -> bytes:
    return b"".join(frame([payload]))


class Spare:
    """Buffers, of which one may be held or none, and another is as large as it is told to be."""

    def __init__(self, has_one: bool = True, size_bytes: int = 0) -> None:
        self._has_one = has_one
        self.another = bytearray(size_bytes)

    def has_spare(self) -> bool:
        return self._has_one

    def take(self) -> bytearray:
        return self.another


def payload(found: Frame) -> bytes:
    return bytes(found.data[found.start : found.end])


def payloads(reader: FrameReader) -> list[bytes]:
    return [payload(found) for found in reader.frames()]


def test_a_chunk_that_is_one_frame_is_one() -> None:
    reader = FrameReader(5)
    chunk = bytearray(framed(b"three") + b"from before")
    found = reader.whole(chunk, 9)
    assert found is not None
    assert (payload(found), found.data is chunk) == (b"three", True)
    assert (reader.pending_bytes, reader.has_rest) == (0, False)


@pytest.mark.parametrize("chunk", [b"", b"\0\0\0\3", framed(b"three")[:-1], framed(b"a") + b"b", framed(b"larger")])
def test_a_chunk_that_is_not_just_one_frame_goes_the_usual_way(chunk: bytes) -> None:
    assert FrameReader(5).whole(chunk, len(chunk)) is None


def test_a_frame_behind_the_beginning_of_another_is_none() -> None:
    reader = FrameReader(100)
    reader.receive_data(framed(b"one")[:5])
    assert (list(reader.frames()), reader.has_rest) == ([], True)
    assert reader.whole(framed(b"two"), 7) is None
    reader.receive_data(framed(b"one")[5:])
    assert (payloads(reader), reader.has_rest) == ([b"one"], False)


def test_a_frame_inside_one_chunk_is_handed_out_where_it_lies() -> None:
    chunk = framed(b"one") + framed(b"") + framed(b"three")
    reader = FrameReader(100)
    reader.receive_data(chunk)
    frames = list(reader.frames())
    assert [payload(found) for found in frames] == [b"one", b"", b"three"]
    assert all(found.data is chunk for found in frames)
    assert reader.pending_bytes == 0


@given(st.lists(st.binary(max_size=40), max_size=8), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_any_cutting_of_the_stream_gives_the_same_frames(sent: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(framed, sent))
    reader = FrameReader(40)
    received, position, turn = [], 0, 0
    while position < len(stream):
        reader.receive_data(stream[position : position + cuts[turn % len(cuts)]])
        position += cuts[turn % len(cuts)]
        turn += 1
        received += payloads(reader)
    assert received == sent
    assert reader.pending_bytes == 0


def test_a_frame_stays_as_it_was_when_more_data_comes() -> None:
    reader = FrameReader(100)
    stream = framed(b"first") + framed(b"second") + framed(b"third")
    reader.receive_data(stream[:12])
    early = list(reader.frames())
    reader.receive_data(stream[12:22])
    middle = list(reader.frames())
    held = [memoryview(found.data)[found.start : found.end] for found in early + middle]
    reader.receive_data(stream[22:])
    late = list(reader.frames())
    assert [bytes(view) for view in held] == [b"first", b"second"]
    assert [payload(found) for found in late] == [b"third"]


def test_frames_that_were_not_taken_yet_stay_in_order() -> None:
    reader = FrameReader(100)
    reader.receive_data(framed(b"a") + framed(b"b"))
    assert payload(next(reader.frames())) == b"a"
    reader.receive_data(framed(b"c"))
    reader.receive_data(framed(b"d")[:2])
    assert payloads(reader) == [b"b", b"c"]
    assert reader.pending_bytes == 2


def test_what_was_kept_survives_the_buffer_it_came_in() -> None:
    reader = FrameReader(100)
    buffer = bytearray(30)
    stream = framed(b"first") + framed(b"second") + framed(b"third")
    taken = []
    for start in range(0, len(stream), 7):
        piece = stream[start : start + 7]
        buffer[: len(piece)] = piece
        reader.receive_data(buffer, len(piece))
        taken += payloads(reader)
        reader.keep()
        buffer[:] = b"?" * len(buffer)
    assert taken == [b"first", b"second", b"third"]
    assert reader.pending_bytes == 0


def test_a_large_frame_may_stay_where_it_begins_if_it_fits() -> None:
    large = bytes(range(256)) * 800
    stream = framed(b"small") + framed(large) + framed(b"next") + framed(large)
    buffer = bytearray(WINDOW_BYTES_MIN * 5)
    reader = FrameReader(len(large))
    buffer[: WINDOW_BYTES_MIN + 100] = stream[: WINDOW_BYTES_MIN + 100]
    reader.receive_data(buffer, WINDOW_BYTES_MIN + 100)
    assert payloads(reader) == [b"small"]
    reader.keep(Spare())
    with pytest.raises(BufferError):
        buffer.append(0)  # it is held
    position, received = WINDOW_BYTES_MIN + 100, []
    while position < len(stream):
        window = reader.window()
        count = min(50_000 if window is None else len(window), 50_000, len(stream) - position)
        if window is None:
            reader.receive_data(stream[position : position + count])
        else:
            window[:count] = stream[position : position + count]
            reader.fill(count)
        position += count
        received += payloads(reader)
        reader.keep(Spare())
    assert received == [large, b"next", large]
    assert (reader.pending_bytes, reader.held_bytes) == (0, 0)
    buffer.append(0)  # nobody holds it


@pytest.mark.parametrize(("arrived_bytes", "may_stay"), [(WINDOW_BYTES_MIN, False), (STAY_BYTES_MIN - 1, True)])
def test_a_frame_that_is_small_yet_or_may_not_stay_is_moved(arrived_bytes: int, may_stay: bool) -> None:
    stream = framed(bytes(range(256)) * 500)
    buffer = bytearray(WINDOW_BYTES_MIN * 4)
    reader = FrameReader(1 << 20)
    buffer[:arrived_bytes] = stream[:arrived_bytes]
    reader.receive_data(buffer, arrived_bytes)
    assert payloads(reader) == []
    reader.keep(Spare(may_stay))
    buffer[:] = bytes(len(buffer))
    reader.receive_data(stream[arrived_bytes:])
    assert payloads(reader) == [stream[4:]]


def test_a_frame_that_will_be_large_stays_however_often_it_is_kept_and_its_window_ends_with_it() -> None:
    stream = framed(bytes(range(256)) * 500)
    buffer = bytearray(WINDOW_BYTES_MIN * 4)
    reader = FrameReader(1 << 20)
    buffer[:STAY_BYTES_MIN] = stream[:STAY_BYTES_MIN]
    reader.receive_data(buffer, STAY_BYTES_MIN)
    assert payloads(reader) == []
    reader.keep(Spare())
    for position in range(STAY_BYTES_MIN, len(stream), 50_000):
        window = reader.window()
        assert window is not None
        assert len(window) == len(stream) - position
        piece = stream[position : position + 50_000]
        window[: len(piece)] = piece
        reader.fill(len(piece))
        if len(piece) == 50_000:
            assert payloads(reader) == []
        reader.keep(Spare(False))  # whoever has it need not ask again
    [found] = reader.frames()
    assert found.data is buffer
    assert payload(found) == stream[4:]


def test_whole_frames_that_were_not_taken_stay_together_if_they_are_many() -> None:
    stream = framed(bytes(1000)) * (WINDOW_BYTES_MIN // 1000 + 1)
    buffer = bytearray(stream + framed(b"next")[:2])
    reader = FrameReader(1 << 20)
    reader.receive_data(buffer)
    reader.keep(Spare())
    assert all(found.data is buffer for found in reader.frames())
    reader.keep(Spare())
    buffer.append(0)  # nobody holds it: what is left is small
    reader.receive_data(framed(b"next")[2:])
    assert payloads(reader) == [b"next"]


def test_what_is_forgotten_is_not_held() -> None:
    buffer = bytearray(framed(bytes(WINDOW_BYTES_MIN * 2)))
    reader = FrameReader(1 << 20)
    reader.receive_data(buffer, WINDOW_BYTES_MIN)
    reader.keep(Spare())
    assert reader.held_bytes == WINDOW_BYTES_MIN
    reader.forget()
    buffer.append(0)
    assert (reader.held_bytes, reader.pending_bytes, payloads(reader)) == (0, 0, [])


def test_a_frame_that_does_not_fit_into_the_rest_is_moved() -> None:
    stream = framed(b"x" * WINDOW_BYTES_MIN) + framed(bytes(range(256)) * 500)
    buffer = bytearray(WINDOW_BYTES_MIN * 5 // 2)
    reader = FrameReader(1 << 20)
    buffer[:] = stream[: len(buffer)]
    reader.receive_data(buffer)
    assert payloads(reader) == [b"x" * WINDOW_BYTES_MIN]
    reader.keep(Spare())
    buffer.append(0)  # nobody holds it
    reader.receive_data(stream[len(buffer) - 1 :])
    assert payloads(reader) == [bytes(range(256)) * 500]


def test_a_large_frame_that_does_not_fit_into_the_rest_is_received_in_another_buffer() -> None:
    large = bytes(range(256)) * 500
    stream = framed(b"x" * WINDOW_BYTES_MIN) + framed(large)
    buffer = bytearray(WINDOW_BYTES_MIN * 5 // 2)
    reader = FrameReader(1 << 20)
    buffer[:] = stream[: len(buffer)]
    reader.receive_data(buffer)
    assert payloads(reader) == [b"x" * WINDOW_BYTES_MIN]
    spare = Spare(size_bytes=PREFIX_BYTES + len(large))
    reader.keep(spare)
    buffer.append(0)  # nobody holds it
    with pytest.raises(BufferError):
        spare.another.append(0)
    window = reader.window()
    assert window is not None
    window[:] = stream[len(buffer) - 1 :]
    reader.fill(len(window))
    [found] = reader.frames()
    assert found.data is spare.another
    assert payload(found) == large


@pytest.mark.parametrize("size", [-1, -(2**31), 101, 2**31 - 1])
def test_a_size_that_cannot_be_ends_the_stream(size: int) -> None:
    reader = FrameReader(100)
    reader.receive_data(framed(b"good") + struct.pack(">i", size))
    frames = reader.frames()
    assert payload(next(frames)) == b"good"
    for _ in range(2):
        with pytest.raises(FramingError, match=f"{size} bytes"):
            next(reader.frames())


def test_the_limit_may_grow_between_two_frames_of_one_chunk() -> None:
    reader = FrameReader(10)
    reader.receive_data(framed(b"password") + framed(bytes(50)))
    seen = []
    for found in reader.frames():
        seen.append(found.end - found.start)
        reader.frame_bytes_max = 100
    assert seen == [8, 50]


def test_failure_class_1_an_announced_size_allocates_nothing() -> None:
    reader = FrameReader(100 * KB * KB)
    tracemalloc.start()
    reader.receive_data(struct.pack(">i", 100 * KB * KB))
    assert list(reader.frames()) == []
    for _ in range(10):
        reader.receive_data(bytes(KB))
        assert list(reader.frames()) == []
        assert reader.window() is None
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 64 * KB


def receive_large(reader: FrameReader, stream: bytes, piece_bytes: int) -> list[bytes]:
    """As a driver would: into the window where there is one. Checks that it never runs ahead of what has come."""
    received, position = [], 0
    while position < len(stream):
        window = reader.window()
        if window is None:
            reader.receive_data(stream[position : position + piece_bytes])
            position += piece_bytes
        else:
            assert len(window) <= reader.pending_bytes
            count = min(len(window), piece_bytes, len(stream) - position)
            window[:count] = stream[position : position + count]
            reader.fill(count)
            position += count
        received += payloads(reader)
    return received


@pytest.mark.parametrize("piece_bytes", [30_000, 70_000, 200_000])
def test_the_rest_of_a_large_frame_is_received_in_place(piece_bytes: int) -> None:
    large = bytes(range(256)) * 4 * KB
    stream = framed(large) + framed(b"small") + framed(large)
    assert receive_large(FrameReader(len(large)), stream, piece_bytes) == [large, b"small", large]


def test_memory_is_held_for_what_has_come_of_a_frame_and_for_nothing_else() -> None:
    large = bytes(8 * KB * KB)
    stream = framed(large)
    reader = FrameReader(len(large))
    for start in range(0, len(stream), 100 * KB):
        assert start <= reader.held_bytes <= start + WINDOW_BYTES_MAX
        window = reader.window()
        if window is None or len(window) < 100 * KB:
            if window is not None:
                reader.fill(0)
            reader.receive_data(stream[start : start + 100 * KB])
        else:
            count = len(stream[start : start + 100 * KB])
            window[:count] = stream[start : start + count]
            reader.fill(count)
        frames = payloads(reader)
    assert frames == [large]
    assert reader.held_bytes == 0
    reader.receive_data(framed(b"a") * 2)
    assert payloads(reader) == [b"a", b"a"]
    assert reader.held_bytes == 0


def test_a_window_half_filled_may_be_left_for_ordinary_data() -> None:
    large = bytes(range(256)) * 2 * KB
    stream = framed(large)
    reader = FrameReader(len(large))
    reader.receive_data(stream[:10])
    reader.receive_data(stream[10:WINDOW_BYTES_MIN])
    window = reader.window()
    assert window is not None
    window[:5] = stream[WINDOW_BYTES_MIN : WINDOW_BYTES_MIN + 5]
    reader.fill(5)
    again = reader.window()
    assert again is not None
    reader.fill(0)
    reader.receive_data(stream[WINDOW_BYTES_MIN + 5 :])
    assert payloads(reader) == [large]


def test_pieces_get_their_common_length_in_front() -> None:
    assert frame([b"ab", b"cde"]) == [b"\0\0\0\x05", b"ab", b"cde"]
    assert frame([]) == [b"\0\0\0\0"]
