"""Offsets of groups: committed by members and by others, fetched, deleted, and every way to be refused."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.classic_groups import WRONG, leave
from compat_tests.scenarios.group_members import group_of_one, wait_for
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

AREA = Area("group offsets")
UNKNOWN_ID = bytes(range(16))
NO_GENERATION = -1
BY_ID = 10


def committed(
    stage: Stage, version: int, topic: str, offsets: dict[int, int], note: str | None = "", **more: Any
) -> Any:
    partitions = [
        {"partition_index": index, "committed_offset": offset, "committed_leader_epoch": 0, "committed_metadata": note}
        for index, offset in offsets.items()
    ]
    topic_id = stage.topic_id(topic) if version >= BY_ID and topic.startswith(stage.name) else UNKNOWN_ID
    fields = {
        "group_id": stage.name,
        "generation_id_or_member_epoch": NO_GENERATION,
        "topics": [{"name": topic, "topic_id": topic_id, "partitions": partitions}],
        **more,
    }
    return stage.ask(OffsetCommitRequest, version, fields)


def fetched(
    stage: Stage, version: int, topic: str | None, indexes: list[int], group: str | None = None, **more: Any
) -> None:
    """Of one topic, or of all that have offsets."""
    name = stage.name if group is None else group
    if version < 8:
        asked = None if topic is None else [{"name": topic, "partition_indexes": indexes}]
        stage.ask(OffsetFetchRequest, version, {"group_id": name, "topics": asked, **more})
        return
    key: dict[str, Any] = {"name": topic}
    if version >= BY_ID and topic is not None:
        key["topic_id"] = stage.topic_id(topic) if topic.startswith(stage.name) else UNKNOWN_ID
    asked = None if topic is None else [{**key, "partition_indexes": indexes}]
    stage.ask(OffsetFetchRequest, version, {"groups": [{"group_id": name, "topics": asked, **more}]})


@AREA.at(OffsetCommitRequest, versions=(2, 5, 6, 7, 8, 9, 10))
def committed_without_being_a_member(stage: Stage, version: int) -> None:
    topic = stage.topic(partitions=2)
    committed(stage, version, topic, {0: 5, 1: 0}, "a note")
    committed(stage, version, topic, {0: 3}, None)
    fetched(stage, 9, topic, [0, 1])


@AREA.at(OffsetFetchRequest, versions=(1, 2, 5, 7, 8, 9, 10))
def fetched_of_some_partitions(stage: Stage, version: int) -> None:
    topic = stage.topic(partitions=3)
    committed(stage, 8, topic, {0: 5, 1: 7}, "a note")
    fetched(stage, version, topic, [0, 1, 2, 9])


@AREA.at(OffsetFetchRequest, versions=(2, 7, 8, 9))
def fetched_of_all_partitions(stage: Stage, version: int) -> None:
    topic = stage.topic(partitions=3)
    committed(stage, 8, topic, {0: 5, 2: 7})
    fetched(stage, version, None, [])


@AREA.at(
    OffsetFetchRequest,
    {"an unknown topic": ("no-such-topic", None), "an unknown group": (None, "no-such-group"), "no group": (None, "")},
    versions=(2, 6, 8, 9, 10),
)
def nothing_is_fetched_of(stage: Stage, version: int, case: tuple[str | None, str | None]) -> None:
    topic, group = case
    fetched(stage, version, topic or stage.topic(), [0], group)


@AREA.at(OffsetFetchRequest, versions=(8, 9))
def fetched_of_several_groups(stage: Stage, version: int) -> None:
    topic = stage.topic()
    committed(stage, 8, topic, {0: 5})
    asked = [{"name": topic, "partition_indexes": [0]}]
    groups = [{"group_id": name, "topics": asked} for name in (stage.name, "no-such-group", stage.name)]
    stage.ask(OffsetFetchRequest, version, {"groups": groups, "require_stable": True})


@AREA.at(
    OffsetFetchRequest,
    {"a member that is none": ("nobody", 1), "an epoch without a member": (None, 3)},
    versions=(9, 10),
)
def fetched_by(stage: Stage, version: int, case: tuple[str | None, int]) -> None:
    member, epoch = case
    topic = stage.topic()
    committed(stage, 8, topic, {0: 5})
    fetched(stage, version, topic, [0], member_id=member, member_epoch=epoch)


REFUSED = {
    "an unknown topic": ("no-such-topic", {0: 1}, ""),
    "an unknown partition": (None, {7: 1}, ""),
    "a negative offset": (None, {0: -5}, ""),
    "a long note": (None, {0: 1}, "n" * 5000),
    "a note that just fits": (None, {0: 1}, "n" * 4096),
}


@AREA.at(OffsetCommitRequest, REFUSED)
def not_committed(stage: Stage, version: int, case: tuple[str | None, dict[int, int], str]) -> None:
    topic, offsets, note = case
    own = stage.topic()
    committed(stage, 8, own, {0: 1})
    committed(stage, version, topic or own, offsets, note)
    fetched(stage, 9, own, [0])


@AREA.at(OffsetCommitRequest, {key: value for key, value in WRONG.items() if key != "another group"})
def committed_by_a_member(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    topic, member = stage.topic(), group_of_one(stage)
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    renamed = {"generation_id_or_member_epoch" if key == "generation_id" else key: one for key, one in wrong.items()}
    committed(stage, version, topic, {0: 8}, **{**identity, **renamed})
    fetched(stage, 9, topic, [0])


@AREA.at(OffsetCommitRequest, {"a generation": (3, ""), "a member": (-1, "nobody"), "both": (3, "nobody")})
def committed_to_a_group_that_is_not_there(stage: Stage, version: int, case: tuple[int, str]) -> None:
    generation, member_id = case
    identity = {"generation_id_or_member_epoch": generation, "member_id": member_id}
    committed(stage, version, stage.topic(), {0: 8}, **identity)


@AREA.one
def committed_while_the_group_has_members(stage: Stage) -> None:
    topic = stage.topic()
    group_of_one(stage)
    committed(stage, 9, topic, {0: 8})


@AREA.at(OffsetCommitRequest, versions=(7, 9))
def committed_under_another_instance(stage: Stage, version: int) -> None:
    topic, member = stage.topic(), group_of_one(stage, instance_id="static")
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    for instance in ("static", "other", None):
        committed(stage, version, topic, {0: 8}, **identity, group_instance_id=instance)


# Deleting


def deleted(stage: Stage, topic: str, indexes: list[int], group: str | None = None) -> None:
    partitions = [{"partition_index": index} for index in indexes]
    fields = {"group_id": stage.name if group is None else group, "topics": [{"name": topic, "partitions": partitions}]}
    stage.ask(OffsetDeleteRequest, 0, fields)


@AREA.one
def deleted_one_by_one(stage: Stage) -> None:
    topic = stage.topic(partitions=2)
    committed(stage, 8, topic, {0: 5, 1: 7})
    deleted(stage, topic, [1, 9])
    fetched(stage, 9, None, [])
    deleted(stage, "no-such-topic", [0])


@AREA.cases({"an unknown group": "no-such-group", "no group": ""})
def not_deleted_of(stage: Stage, group: str) -> None:
    deleted(stage, stage.topic(), [0], group)


@AREA.one
def not_deleted_while_members_are_there(stage: Stage) -> None:
    topic, member = stage.topic(), group_of_one(stage)
    identity = {"generation_id_or_member_epoch": member.generation, "member_id": member.id}
    committed(stage, 9, topic, {0: 8}, **identity)
    deleted(stage, topic, [0])
    leave(stage, 5, {"member_id": member.id})
    wait_for(stage, "Empty", 0)
    deleted(stage, topic, [0])
    fetched(stage, 9, None, [])


@AREA.at(OffsetCommitRequest, versions=(2, 4))
def committed_with_a_time_to_live(stage: Stage, version: int) -> None:
    """It stays until somebody looks for what is over; see `passing_time`."""
    topic = stage.topic()
    committed(stage, version, topic, {0: 5}, retention_time_ms=1)
    fetched(stage, 9, topic, [0])
