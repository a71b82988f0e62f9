"""What `ottla pipeline mirror` takes. What it does: test_mirror_run.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["pipeline", "mirror", "a", "b", "--from", "x:1", "--to", "y:2", "--once", "--groups", "g.*"]
    words += ["--rename", "a=c", "--config", "retention.ms=-1", "--compression", "zstd", "--round-records", "7"]
    parsed = cli.parser("pipeline").parse_args(words)
    assert (parsed.topics, parsed.source, parsed.target, parsed.once, parsed.groups) == (
        ["a", "b"],
        "x:1",
        "y:2",
        True,
        "g.*",
    )
    assert (parsed.rename, parsed.config) == ([("a", "c")], [("retention.ms", "-1")])
    assert (parsed.compression, parsed.round_records, parsed.every, parsed.timeout) == ("zstd", 7, 1.0, 30.0)


@pytest.mark.parametrize(
    "words", [["a"], ["a", "--from", "x:1"], ["a", "--from", "x:1", "--to", "y:2", "--compression", "best"]]
)
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser("pipeline").parse_args(["pipeline", "mirror", *words])
