"""Groups are listed, described with members and lag, and removed."""

from __future__ import annotations

import pytest

from tests.commands.command_line import CommandLine, TerminalInput
from tests.commands.members import a_member


@pytest.fixture
def group(ottla: CommandLine, orders: str) -> str:
    """A group without members that has committed the beginning of each partition."""
    ottla.ok("groups", "reset-offsets", f"{orders}-group", "--topic", orders, "--to-earliest", "--execute")
    return f"{orders}-group"


def test_a_group_is_described_with_its_members_and_lag(ottla: CommandLine, orders: str) -> None:
    group_id = f"{orders}-group"
    with a_member(ottla.bootstrap, group_id, orders, 3):
        ottla.ok("produce", orders, "--key", "a", stdin=b"4\n5\n")
        (row,) = ottla.ok("groups", "describe", group_id, "--json").rows
        table = ottla.ok("groups", "describe", group_id).lines
        members = ottla.ok("groups", "describe", group_id, "--members").lines
        refused = ottla("groups", "delete", group_id, "--yes")
    assert (row["groupId"], row["type"], row["state"], row["coordinator"]) == (group_id, "classic", "Stable", 1)
    (member,) = row["members"]
    assert member["clientId"] == f"client-of-{group_id}"
    assert member["partitions"] == [{"topic": orders, "partition": number} for number in range(3)]
    assert [(one["committedOffset"], one["endOffset"], one["lag"]) for one in row["offsets"]] == [
        (1, 1, 0),
        (1, 3, 2),
        (1, 1, 0),
    ]
    assert {one["memberId"] for one in row["offsets"]} == {member["memberId"]}
    assert table[0].startswith(f"{group_id}: classic, Stable, 1 member, assignor range, coordinator 1, lag 2")
    assert table[3].split()[:5] == [orders, "1", "1", "3", "2"]
    assert members[-1].endswith(f"{orders}:0,1,2")
    assert (refused.status, "NON_EMPTY_GROUP" in refused.err) == (1, True)
    assert "stop its members first" in refused.err


def test_groups_are_listed_by_state_and_type(ottla: CommandLine, group: str) -> None:
    rows = ottla.ok("groups", "list", "--json").rows
    assert {"groupId": group, "type": "classic", "protocolType": "", "state": "Empty"} in rows
    assert [group, "classic", "-", "Empty"] in [line.split() for line in ottla.ok("groups", "list").lines]
    for words, is_there in (
        (["--state", "empty"], True),
        (["--state", "Stable"], False),
        (["--type", "Classic"], True),
        (["--type", "share"], False),
    ):
        listed = [row["groupId"] for row in ottla.ok("groups", "list", "--json", *words).rows]
        assert (group in listed) == is_there


def test_deleting_asks_first(ottla: CommandLine, group: str) -> None:
    told = ottla("groups", "delete", group)
    assert (told.status, "--yes" in told.err) == (2, True)
    told = ottla("groups", "delete", group, stdin=TerminalInput("no\n"))
    assert told.err.startswith(f"Delete {group} with committed offsets of 3 partitions? [y/N] ")
    ottla.ok("groups", "describe", group)
    ottla.ok("groups", "delete", group, stdin=TerminalInput("yes\n"))
    assert ottla("groups", "describe", group).status == 1


@pytest.mark.parametrize("words", [["describe"], ["delete", "--yes"], ["watch"]])
def test_a_mistyped_group_is_told_with_what_was_meant(ottla: CommandLine, group: str, words: list[str]) -> None:
    told = ottla("groups", *words, group[:-1])
    assert (told.status, told.out) == (1, "")
    assert told.err.startswith(f"ottla: there is no group {group[:-1]}; did you mean ")
    assert group in told.err


def test_offsets_of_a_topic_that_is_gone_do_not_stop_it(ottla: CommandLine, orders: str, group: str) -> None:
    extra = f"{orders}-gone"
    ottla.ok("topics", "create", extra)
    ottla.ok("groups", "reset-offsets", group, "--topic", extra, "--to-earliest", "--execute")
    ottla.ok("topics", "delete", extra, "--yes")
    (row,) = ottla.ok("groups", "describe", group, "--json").rows
    assert {one["topic"]: one["lag"] for one in row["offsets"]} in ({orders: 1}, {orders: 1, extra: None})
