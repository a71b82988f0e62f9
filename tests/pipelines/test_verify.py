"""What `ottla pipeline verify` takes. What it does: test_verify_run.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["pipeline", "verify", "a", "--from", "x:1", "--to", "y:2", "--rename", "a=b", "--allow-behind", "--json"]
    parsed = cli.parser("pipeline").parse_args(words)
    assert (parsed.topics, parsed.source, parsed.target, parsed.rename) == (["a"], "x:1", "y:2", [("a", "b")])
    assert (parsed.allow_behind, parsed.json, parsed.pattern) == (True, True, None)
    assert (parsed.source_archive, parsed.target_archive) == (None, None)


@pytest.mark.parametrize("words", [["--from", "x:1"], ["--to", "x:1"], ["--from", "x:1", "--from-archive", "a"]])
def test_there_are_two_sides(words: list[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        cli.parser("pipeline").parse_args(["pipeline", "verify", *words])
    assert refused.value.code == 2
