"""Who holds what, and what is left to read. Against a node: test_group_commands.py."""

from __future__ import annotations

from ottla.client.cluster import Cluster
from ottla.client.group_description import GroupDescription, Member
from ottla.client.metadata import TopicPartition
from ottla.commands.group_rows import MEMBER_COLUMNS, OFFSET_COLUMNS, end_offsets, head_text, offset_rows
from ottla.commands.terminal import Table
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from tests.client.stub_cluster import StubBroker, in_trio, metadata, network
from tests.commands.sample_logs import plain

ONE, TWO, THREE = (TopicPartition("t", number) for number in (1, 2, 3))
GROUP = GroupDescription("g", "classic", "consumer", "Stable", "range", 7, [Member("m", None, "c", "/h", [TWO, THREE])])


def test_rows_join_what_is_committed_and_what_is_held() -> None:
    rows = offset_rows(GROUP, {ONE: 5, TWO: 9}, {ONE: 8, THREE: 4})
    assert [(row["partition"], row["committedOffset"], row["endOffset"], row["lag"]) for row in rows] == [
        (1, 5, 8, 3),
        (2, 9, None, None),
        (3, None, 4, None),
    ]
    assert [row["memberId"] for row in rows] == [None, "m", "m"]


@in_trio
async def test_partitions_that_are_gone_or_without_a_leader_have_no_end() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {1: 1, 2: -1}, topic="t"))
    found = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=1, offset=8)
    topic = ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[found])
    broker.on(ListOffsetsRequest, ListOffsetsResponse(topics=[topic]))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        assert await end_offsets(cluster, {ONE, TWO, THREE}) == {ONE: 8}


def test_a_log_that_was_cut_behind_a_commit_has_no_lag() -> None:
    (row,) = offset_rows(GROUP._replace(members=[]), {ONE: 5}, {ONE: 2})
    assert row["lag"] == 0


def test_tables_show_what_is_not_known_and_what_is_behind() -> None:
    rows = offset_rows(GROUP, {ONE: 5, TWO: 9}, {ONE: 8, THREE: 4})
    terminal, stream = plain(colours=True)
    with Table(terminal, OFFSET_COLUMNS) as table:
        for row in rows:
            table.row(row)
    shown = stream.getvalue().splitlines()
    assert "\033[33m3\033[0m" in shown[1]
    assert shown[2].split() == ["t", "2", "9", "?", "?", "c", "/h", "m"]
    assert shown[3].split() == ["t", "3", "-", "4", "?", "c", "/h", "m"]


def test_a_group_in_one_line_has_the_lag_that_is_known() -> None:
    row = {"groupId": "g", "type": "classic", "state": "Stable", "assignor": "", "coordinator": 7, "members": []}
    row["offsets"] = offset_rows(GROUP, {ONE: 5, TWO: 9}, {ONE: 8, THREE: 4})
    assert head_text(row) == "g: classic, Stable, 0 members, coordinator 7, lag 3"
    assert head_text(row | {"groupId": "\033c"}).startswith(r"\x1bc: ")
    row |= {"assignor": "range", "members": [{}]}
    assert head_text(row) == "g: classic, Stable, 1 member, assignor range, coordinator 7, lag 3"


def test_a_member_shows_its_partitions_by_topic() -> None:
    terminal, stream = plain()
    places = [{"topic": "t", "partition": 1}, {"topic": "t", "partition": 2}, {"topic": "u", "partition": 0}]
    with Table(terminal, MEMBER_COLUMNS) as table:
        table.row({"memberId": "m", "instanceId": None, "clientId": "c", "host": "/h", "partitions": places})
        table.row({"memberId": "n", "instanceId": "i", "clientId": "c", "host": "/h", "partitions": []})
    assert [line.split()[1:] for line in stream.getvalue().splitlines()[1:]] == [
        ["-", "c", "/h", "t:1,2", "u:0"],
        ["i", "c", "/h", "-"],
    ]
