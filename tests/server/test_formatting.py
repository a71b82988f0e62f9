"""The files of a node's first start: all of them or what was missing, never the same thing twice."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ottla.cluster.bootstrap import BOOTSTRAP_FILE_NAME, BOOTSTRAP_SNAPSHOT
from ottla.server.formatting import (
    bootstrap_records,
    format_metadata,
    found_cluster_id,
    is_formatted_to_join,
    write_first_records,
)
from ottla.storage.meta_properties import MetaProperties, write_meta_properties
from ottla.wire.stored.metadata_records import FeatureLevelRecord
from tests.server.metadata_world import DIRECTORY_ID, ENDPOINTS, FEATURES, HOME, NODE_ID, NOW_MS, PARTITION, format_home
from tests.storage.fake_disk import FakeDisk, PowerCut

SNAPSHOT = f"{PARTITION}/{BOOTSTRAP_SNAPSHOT.file_name}"


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def test_the_cluster_of_formatted_directories_is_found(disk: FakeDisk) -> None:
    for path in ("/empty", "/broken", "/formatted"):
        disk.make_directory(path)
    disk.replace("/broken/meta.properties", b"version=9\n")
    write_meta_properties(
        disk, "/formatted", MetaProperties(cluster_id="the-cluster", node_id=1, directory_id=DIRECTORY_ID)
    )
    assert found_cluster_id(disk, ["/missing", "/empty", "/broken"]) is None
    assert found_cluster_id(disk, ["/missing", "/empty", "/broken", "/formatted"]) == "the-cluster"


def test_a_new_node_gets_its_first_records_and_its_voter(disk: FakeDisk) -> None:
    format_home(disk)
    levels = {
        record.name: record.feature_level
        for record in bootstrap_records(disk, HOME)
        if isinstance(record, FeatureLevelRecord)
    }
    assert set(levels) == {"metadata.version"}, "what is not served stays at level 0"
    assert SNAPSHOT in disk.files()


def test_what_is_there_is_left_alone(disk: FakeDisk) -> None:
    format_home(disk)
    before = disk.files()
    format_metadata(disk, [HOME], HOME, {}, node_id=2, directory_id=bytes(16), endpoints=ENDPOINTS, now_ms=NOW_MS + 1)
    assert disk.files() == before


def test_a_metadata_directory_of_its_own_has_the_first_records_too(disk: FakeDisk) -> None:
    disk.make_directory("/logs")
    disk.make_directory(HOME)
    format_metadata(
        disk, ["/logs"], HOME, FEATURES, node_id=NODE_ID, directory_id=DIRECTORY_ID, endpoints=ENDPOINTS, now_ms=NOW_MS
    )
    assert f"/logs/{BOOTSTRAP_FILE_NAME}" in disk.files()
    assert bootstrap_records(disk, HOME) == bootstrap_records(disk, "/logs")
    assert SNAPSHOT in disk.files()


def test_a_power_cut_at_any_moment_of_formatting_is_made_good_by_the_next_start() -> None:
    whole = FakeDisk()
    format_home(whole)
    for count in range(1, 30):
        disk = FakeDisk(count)
        disk.crash_after(count)
        with suppress(PowerCut):
            format_home(disk)
        disk.crash()
        format_home(disk)
        files = {path: data for path, data in disk.files().items() if not path.endswith(".tmp")}
        assert files == whole.files(), disk.story()


def test_a_first_start_that_was_interrupted_does_not_look_like_one_who_was_formatted_to_join() -> None:
    """Or it would wait for a quorum that nobody begins."""
    for count in range(1, 30):
        disk = FakeDisk(count)
        disk.crash_after(count)
        with suppress(PowerCut):
            format_home(disk)
        disk.crash()
        assert not is_formatted_to_join(disk, HOME), disk.story()
    joining = FakeDisk()
    joining.make_directory(HOME)
    write_first_records(joining, [HOME], [], NOW_MS)
    assert is_formatted_to_join(joining, HOME)


def test_voters_of_the_configuration_are_in_no_snapshot(disk: FakeDisk) -> None:
    disk.make_directory(HOME)
    for _ in range(2):
        format_metadata(
            disk,
            [HOME],
            HOME,
            FEATURES,
            node_id=NODE_ID,
            directory_id=DIRECTORY_ID,
            endpoints=ENDPOINTS,
            now_ms=NOW_MS,
            is_quorum_elsewhere=True,
        )
    assert disk.exists(PARTITION)
    assert SNAPSHOT not in disk.files()
    assert bootstrap_records(disk, HOME)
