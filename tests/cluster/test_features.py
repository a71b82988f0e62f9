"""Features: what a new cluster has, what a level needs, and in which version records are written."""

from __future__ import annotations

import pytest

from ottla.cluster import features
from ottla.cluster.features import VersionRange


def test_a_new_cluster_has_what_kafkas_storage_tool_gives_it() -> None:
    assert features.default_levels() == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "kraft.version": 1,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }


def test_an_older_metadata_version_brings_fewer_features() -> None:
    assert features.default_levels(21)["kraft.version"] == 1
    assert features.default_levels(21)["group.version"] == 0
    assert features.default_levels(22)["transaction.version"] == 0


@pytest.mark.parametrize(
    ("name", "level", "levels", "reason"),
    [
        ("group.version", 0, {}, None),
        ("group.version", 1, {"metadata.version": 30}, None),
        ("group.version", 1, {"metadata.version": 6}, "group.version 1 needs metadata.version 7 or higher"),
        ("group.version", 2, {"metadata.version": 30}, "there is no level 2 of group.version"),
        ("no.such.feature", 1, {"metadata.version": 30}, "there is no level 1 of no.such.feature"),
        (
            "eligible.leader.replicas.version",
            1,
            {"metadata.version": 22},
            "eligible.leader.replicas.version 1 needs metadata.version 23 or higher",
        ),
    ],
)
def test_a_level_needs_what_it_builds_on(name: str, level: int, levels: dict[str, int], reason: str | None) -> None:
    assert features.reason_not_ready(name, level, levels) == reason


def test_metadata_changes_between_levels_if_any_step_changes_it() -> None:
    assert not features.metadata_changed_between(29, 29)
    assert not features.metadata_changed_between(29, 23)
    assert features.metadata_changed_between(30, 29)
    assert features.metadata_changed_between(22, 23)


def test_records_are_written_in_the_version_that_the_metadata_version_allows() -> None:
    assert [features.register_broker_version(level) for level in (7, 8, 17, 29, 30)] == [1, 2, 3, 3, 4]
    assert [features.partition_version(level) for level in (16, 17, 22, 23, 30)] == [0, 1, 1, 2, 2]


def test_a_range_holds_both_ends_and_nothing_that_is_no_number() -> None:
    assert [level in VersionRange(1, 2) for level in (0, 1, 2, 3)] == [False, True, True, False]
    assert "1" not in VersionRange(1, 2)
    assert str(VersionRange(0, 2)) == "0 to 2"


def test_what_a_cluster_has_and_nobody_serves_is_known_up_to_its_level() -> None:
    served = {"metadata.version": VersionRange(7, 30), "group.version": VersionRange(0, 1)}
    levels = {"metadata.version": 30, "group.version": 1, "transaction.version": 1, "share.version": 1}
    found = {"transaction.version": VersionRange(0, 1), "share.version": VersionRange(0, 1)}
    assert features.found_ranges(levels, served) == found


def test_a_level_that_nobody_knows_is_not_taken_on() -> None:
    assert features.found_ranges({"share.version": 2, "new.version": 1, "streams.version": 0}, {}) == {}


@pytest.mark.parametrize(
    ("release", "level"), [("3.3-IV3", 7), ("3.9", 21), ("4.0", 25), ("4.0.2", 25), ("4.0-IV1", 23)]
)
def test_a_release_has_its_metadata_version(release: str, level: int) -> None:
    assert features.metadata_version_of(release) == level


@pytest.mark.parametrize("release", ["", "4", "2.8", "4.0-IV9", "9.9"])
def test_what_is_no_release_is_refused(release: str) -> None:
    with pytest.raises(ValueError, match=r"is no release from 3.3-IV3 to 4.3-IV0"):
        features.metadata_version_of(release)
