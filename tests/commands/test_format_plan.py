"""Who may be formatted how, and what comes of it."""

from __future__ import annotations

import pytest

from ottla.commands.format_plan import FormatError, Plan, initial_controllers, plan
from ottla.config.loading import load
from ottla.server.running_node import FEATURES
from ottla.wire.primitives import uuid_bytes
from ottla.wire.stored.metadata_records import FeatureLevelRecord

COMBINED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://one:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "one:9093",
}
STATIC = {**COMBINED, "controller.quorum.voters": "1@one:9093", "controller.quorum.bootstrap.servers": ""}
BROKER = {**COMBINED, "process.roles": "broker", "listeners": "PLAINTEXT://:9092"}
FIRST, SECOND = "JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A"
TWO = f"1@one:9093:{FIRST},2@[::1]:9094:{SECOND}"
NEW_ID = b"a new id, random"
SERVED = {"eligible.leader.replicas.version": 1, "group.version": 1}


def planned(
    settings: dict[str, str],
    *features: str,
    cluster_id: str | None = "the-cluster",
    release: str | None = None,
    is_standalone: bool = False,
    controllers: str | None = None,
    joins: bool = False,
) -> Plan:
    return plan(
        load(settings, {}).config,
        FEATURES,
        lambda: NEW_ID,
        cluster_id=cluster_id,
        release=release,
        features=features,
        is_standalone=is_standalone,
        controllers=controllers,
        joins=joins,
    )


def levels(made: Plan) -> dict[str, int]:
    return {record.name: record.feature_level for record in made.records if isinstance(record, FeatureLevelRecord)}


def test_alone_it_is_the_one_voter() -> None:
    made = planned(COMBINED, is_standalone=True)
    (own,) = made.voters
    assert (own.voter_id, own.voter_directory_id, made.directory_id) == (1, NEW_ID, NEW_ID)
    assert [(one.name, one.host, one.port) for one in own.endpoints] == [("CONTROLLER", "one", 9093)]
    assert (made.cluster_id, levels(made)) == ("the-cluster", {"metadata.version": 30, **SERVED})


def test_of_several_each_has_the_directory_id_that_it_was_given() -> None:
    made = planned(COMBINED, controllers=TWO)
    assert [one.voter_id for one in made.voters] == [1, 2]
    assert (made.voters[1].endpoints[0].host, made.voters[1].endpoints[0].port) == ("::1", 9094)
    assert made.directory_id == uuid_bytes(FIRST)
    assert planned({**COMBINED, "node.id": "3"}, controllers=TWO).directory_id == NEW_ID


@pytest.mark.parametrize(("settings", "joins"), [(COMBINED, True), (STATIC, False), (BROKER, False), (BROKER, True)])
def test_a_quorum_that_is_elsewhere_has_no_voters_here(settings: dict[str, str], joins: bool) -> None:
    assert planned(settings, joins=joins).voters == []


def test_without_an_id_a_new_cluster_gets_one() -> None:
    assert planned(BROKER, cluster_id=None).cluster_id == "YSBuZXcgaWQsIHJhbmRvbQ"
    assert planned({**BROKER, "cluster.id": "configured"}, cluster_id=None).cluster_id == "configured"


@pytest.mark.parametrize(
    ("release", "features", "expected"),
    [
        ("3.9", [], {"metadata.version": 21}),
        ("4.0.1", [], {"metadata.version": 25, "group.version": 1}),
        ("4.0-IV1", ["group.version=0"], {"metadata.version": 23}),
        (None, ["metadata.version=25", "group.version=0"], {"metadata.version": 25}),
        ("4.1", ["eligible.leader.replicas.version=0"], {"metadata.version": 27, "group.version": 1}),
        (None, ["share.version=0"], {"metadata.version": 30, **SERVED}),
    ],
)
def test_features_are_those_of_a_release_or_as_they_are_wanted(
    release: str | None, features: list[str], expected: dict[str, int]
) -> None:
    assert levels(planned(BROKER, *features, release=release)) == expected


@pytest.mark.parametrize(
    ("settings", "options", "reason"),
    [
        (COMBINED, {}, "has to be told where its quorum is"),
        (STATIC, {"is_standalone": True}, "controller.quorum.voters says who votes"),
        (STATIC, {"joins": True}, "controller.quorum.voters says who votes"),
        (BROKER, {"is_standalone": True}, "--standalone is for a controller"),
        ({**COMBINED, "listeners": "PLAINTEXT://:9092,CONTROLLER://:0"}, {"is_standalone": True}, "name one"),
        (BROKER, {"release": "2.8"}, "no release from 3.3-IV3 to 4.3-IV0"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, str], options: dict[str, bool], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        planned(settings, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("feature", "reason"),
    [
        ("group.version", "FEATURE=LEVEL"),
        ("group.version=2", "group.version 2 is not served; it can be 0 to 1"),
        ("share.version=1", "share.version 1 is not served"),
        ("no.such=0", "no.such 0 is not served"),
        ("metadata.version=99", "metadata.version 99"),
        ("kraft.version=1", "kraft.version is 1 where voters are named"),
    ],
)
def test_levels_that_cannot_be_had_are_refused(feature: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        planned(BROKER, feature)


def test_a_release_and_a_metadata_version_are_one_too_many() -> None:
    with pytest.raises(FormatError, match="give one of them"):
        planned(BROKER, "metadata.version=25", release="4.0")


@pytest.mark.parametrize(
    "text",
    ["", "1@one:9093", f"1@one:{FIRST}", f"@one:9093:{FIRST}", "1@one:9093:short", f"1@one:99999:{FIRST}",
     f"9999999999@one:9093:{FIRST}", "1@one:9093:AAAAAAAAAAAAAAAAAAAAAQ",
     f"1@one:9093:{FIRST},1@two:9093:{SECOND}"],
)  # fmt: skip
def test_controllers_are_named_as_kafka_names_them(text: str) -> None:
    with pytest.raises(FormatError, match="--initial-controllers"):
        initial_controllers(text, "CONTROLLER")
