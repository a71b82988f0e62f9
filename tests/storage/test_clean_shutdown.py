"""The marker of a clean stop never lies (failure class 25)."""

from __future__ import annotations

from itertools import count

import pytest

from ottla.storage.clean_shutdown import FILE_NAME, CleanShutdown, take_marker, write_marker
from tests.storage.fake_disk import FakeDisk, PowerCut

PATH = f"/{FILE_NAME}"


def test_the_marker_says_the_broker_epoch() -> None:
    disk = FakeDisk()
    write_marker(disk, "/", 42)
    assert disk.read(PATH) == b'{"version":0,"brokerEpoch":42}'
    assert take_marker(disk, "/") == CleanShutdown(42)


def test_the_marker_is_taken_once() -> None:
    disk = FakeDisk()
    assert take_marker(disk, "/") is None
    write_marker(disk, "/", 1)
    assert take_marker(disk, "/") is not None
    assert take_marker(disk, "/") is None


def test_a_crash_while_loading_is_not_taken_for_a_clean_stop() -> None:
    """KAFKA-10471: once taken, no power cut brings the marker back."""
    for seed in range(50):
        disk = FakeDisk(seed)
        write_marker(disk, "/", 1)
        take_marker(disk, "/")
        disk.crash()
        assert take_marker(disk, "/") is None, disk.story()


def test_a_power_cut_while_the_marker_is_taken_leaves_it_or_not_but_tells_nobody() -> None:
    for cut in count(1):
        disk = FakeDisk(seed=cut)
        write_marker(disk, "/", 1)
        disk.crash_after(cut)
        try:
            take_marker(disk, "/")
        except PowerCut:
            disk.crash()
        else:
            break
        assert take_marker(disk, "/") in (None, CleanShutdown(1)), disk.story()
    assert cut == 3  # remove, sync of the directory


def test_a_marker_that_was_written_survives_a_power_cut() -> None:
    for seed in range(50):
        disk = FakeDisk(seed)
        write_marker(disk, "/", 42)
        disk.crash()
        assert take_marker(disk, "/") == CleanShutdown(42), disk.story()


def test_a_marker_that_could_not_be_written_is_not_there() -> None:
    disk = FakeDisk()
    disk.fail("sync")
    with pytest.raises(OSError, match="error"):
        write_marker(disk, "/", 42)
    assert take_marker(disk, "/") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":"1"}',
        b'{"brokerEpoch":true}',
        b"\xff",
        b"[" * 9999,
    ],
)
def test_a_marker_without_an_epoch_still_says_that_the_stop_was_clean(content: bytes) -> None:
    disk = FakeDisk()
    disk.replace(PATH, content)
    assert take_marker(disk, "/") == CleanShutdown(-1)


def test_keys_of_a_later_kafka_are_ignored() -> None:
    disk = FakeDisk()
    disk.replace(PATH, b'{"version":9,"brokerEpoch":7,"more":{}}')
    assert take_marker(disk, "/") == CleanShutdown(7)
