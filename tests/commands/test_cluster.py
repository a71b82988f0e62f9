"""What `ottla cluster` takes. What its commands do: test_cluster_info.py and the files beside it."""

from __future__ import annotations

import pytest

from ottla import cli


def parsed(*words: str):  # type: ignore[no-untyped-def]
    return cli.parser().parse_args(["cluster", *words])


def test_words_become_values() -> None:
    found = parsed("info", "--json", "-b", "h:1")
    assert (found.json, found.bootstrap_server) == (True, "h:1")
    found = parsed("reassign", "--topics", "a, b", "--brokers", "1,2", "--replication-factor", "2", "--execute")
    assert (found.topics, found.brokers, found.replication_factor) == (["a", "b"], [1, 2], 2)
    assert parsed("watch", "a", "--once").topics == ["a"]
    assert parsed("elect", "--topic", "a:1", "--topic", "b").topic == ["a:1", "b"]
    assert parsed("add-voter", "4", "--listener", "C://h:1").node == 4
    assert parsed("remove-voter", "4", "--directory-id", "x").directory_id == "x"
    assert parsed("unregister", "4", "--yes").yes


@pytest.mark.parametrize(
    "words",
    [
        "",
        "reassign --brokers 1,1",
        "reassign --brokers 1,x",
        "reassign --topics a,,b",
        "reassign --execute --verify",
        "elect",
        "elect --all --topic a",
        "watch --once --count 2",
        "add-voter 4",
        "add-voter x --listener C://h:1",
    ],
)
def test_what_is_missing_or_wrong_is_refused(words: str) -> None:
    with pytest.raises(SystemExit):
        parsed(*words.split())
