"""What `ottla topics` takes. What its commands do: test_topic_commands.py; every help: test_asking.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["topics", "create", "a", "b", "--partitions", "3", "--config", "k=v", "--config", "l=w=x"]
    parsed = cli.parser().parse_args(words)
    assert (parsed.topics, parsed.partitions, parsed.config) == (["a", "b"], 3, [("k", "v"), ("l", "w=x")])
    assert (parsed.replication_factor, parsed.if_not_exists) == (None, False)


@pytest.mark.parametrize("words", [["describe"], ["create", "a", "--partitions", "-1"], ["alter", "a"], ["delete"]])
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["topics", *words])
