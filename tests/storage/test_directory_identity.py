"""Whose a log directory is, and what a broker is told that comes to the wrong one."""

from __future__ import annotations

import pytest

from ottla.storage.directory_identity import Identity, LogDirectoryError, establish
from ottla.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import DIRECTORY_ID, ME


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def test_a_new_directory_is_formatted_for_good(disk: FakeDisk) -> None:
    meta = establish(disk, "/", ME, DIRECTORY_ID)
    assert meta == MetaProperties(cluster_id="cluster", node_id=1, directory_id=DIRECTORY_ID)
    disk.crash()
    assert read_meta_properties(disk, "/") == meta


def test_a_formatted_directory_keeps_its_id(disk: FakeDisk) -> None:
    meta = establish(disk, "/", ME, DIRECTORY_ID)
    files = disk.files()
    assert establish(disk, "/", ME, DIRECTORY_ID[::-1]) == establish(disk, "/", ME) == meta
    assert disk.files() == files


def test_a_directory_from_before_kafka_3_7_is_given_an_id(disk: FakeDisk) -> None:
    write_meta_properties(disk, "/", MetaProperties(cluster_id="cluster", node_id=1, other={"more": "x"}))
    assert establish(disk, "/", ME).directory_id is None
    meta = establish(disk, "/", ME, DIRECTORY_ID)
    assert meta == MetaProperties(cluster_id="cluster", node_id=1, directory_id=DIRECTORY_ID, other={"more": "x"})
    assert read_meta_properties(disk, "/") == meta


def test_an_empty_directory_where_data_should_be_is_not_formatted_unasked(disk: FakeDisk) -> None:
    with pytest.raises(
        LogDirectoryError, match=r"^/ is not formatted: /meta.properties is missing; is the disk mounted"
    ):
        establish(disk, "/", ME)
    assert disk.files() == {}


@pytest.mark.parametrize(
    ("broker", "words"),
    [
        (Identity("other", 1), "cluster.id is cluster, but this broker's is other; start it with cluster.id=cluster"),
        (Identity("cluster", 2), "node.id is 1, but this broker's is 2; start it with node.id=1"),
    ],
)
def test_the_directory_of_another_is_refused_with_both_values_and_what_to_do(
    disk: FakeDisk, broker: Identity, words: str
) -> None:
    establish(disk, "/", ME, DIRECTORY_ID)
    files = disk.files()
    with pytest.raises(LogDirectoryError) as refused:
        establish(disk, "/", broker, DIRECTORY_ID)
    assert words in str(refused.value)
    assert str(refused.value).startswith("/meta.properties: ")
    assert disk.files() == files


def test_a_damaged_file_is_not_overwritten(disk: FakeDisk) -> None:
    disk.replace("/meta.properties", b"version=1\nnode.id=x\ncluster.id=c\n")
    with pytest.raises(LogDirectoryError, match=r"/meta.properties: node.id 'x' is not a number; restore the file"):
        establish(disk, "/", ME, DIRECTORY_ID)
    assert b"node.id=x" in disk.read("/meta.properties")


def test_ids_that_mean_something_else_are_not_given_out(disk: FakeDisk) -> None:
    with pytest.raises(AssertionError):
        establish(disk, "/", ME, (99).to_bytes(16, "big"))
