"""`partition.metadata`: a directory says which topic it belongs to, or that it cannot say."""

from __future__ import annotations

import pytest

from ottla.storage.partition_metadata import FILE_NAME, PartitionMetadataError, read_topic_id, write_topic_id
from tests.storage.fake_disk import FakeDisk

TOPIC_ID = bytes(range(16))


def test_a_topic_id_is_written_and_read() -> None:
    disk = FakeDisk()
    write_topic_id(disk, "/", TOPIC_ID)
    assert disk.read(f"/{FILE_NAME}") == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert read_topic_id(disk, "/") == TOPIC_ID


def test_a_topic_id_survives_a_power_cut() -> None:
    for seed in range(20):
        disk = FakeDisk(seed)
        write_topic_id(disk, "/", TOPIC_ID)
        disk.crash()
        assert read_topic_id(disk, "/") == TOPIC_ID, disk.story()


def test_a_directory_without_the_file_has_no_topic_id() -> None:
    assert read_topic_id(FakeDisk(), "/") is None


@pytest.mark.parametrize(
    "data",
    [
        b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n",
        b"version: 7\r\ntopic_id:  AAECAwQFBgcICQoLDA0ODw\r\nmore: of a later Kafka\n",
    ],
)
def test_what_kafka_would_read_is_read(data: bytes) -> None:
    disk = FakeDisk()
    disk.replace(f"/{FILE_NAME}", data)
    assert read_topic_id(disk, "/") == TOPIC_ID


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0",
        b"version: 0\n",
        b"version: -1\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
        b"version: x\ntopic_id: AAECAwQFBgcICQoLDA0ODw",
        b"version: 0\ntopic_id: ",
        b"version: 0\ntopic_id: short",
        b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        b"version: 0\ntopic_id: \xff\xff",
        b"\0" * 40,
    ],
)
def test_a_damaged_file_is_refused_by_name(data: bytes) -> None:
    disk = FakeDisk()
    disk.replace(f"/{FILE_NAME}", data)
    with pytest.raises(PartitionMetadataError, match=FILE_NAME):
        read_topic_id(disk, "/")


def test_the_zero_id_is_never_written() -> None:
    with pytest.raises(AssertionError):
        write_topic_id(FakeDisk(), "/", bytes(16))
