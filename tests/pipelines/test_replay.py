"""What `ottla pipeline replay` takes. What it does: test_replay_write.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["pipeline", "replay", "a", "--input", "archive", "--rename", "a=b", "-b", "x:1", "--json"]
    parsed = cli.parser("pipeline").parse_args(words)
    assert (parsed.topics, parsed.input, parsed.rename, parsed.bootstrap_server, parsed.json) == (
        ["a"],
        "archive",
        [("a", "b")],
        "x:1",
        True,
    )
    assert (parsed.compression, parsed.config, parsed.replication_factor) == ("none", [], None)


def test_an_archive_has_to_be_named() -> None:
    with pytest.raises(SystemExit):
        cli.parser("pipeline").parse_args(["pipeline", "replay", "a"])
