"""What `ottla pipeline stats` takes. What it tells: test_stats_report.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["pipeline", "stats", "a", "b", "--keys", "0", "--plot", "a.png", "--buckets", "7"]
    parsed = cli.parser("pipeline").parse_args(words)
    assert (parsed.topics, parsed.keys, parsed.plot, parsed.buckets) == (["a", "b"], 0, "a.png", 7)
    assert (parsed.pattern, parsed.client, parsed.json) == (None, [], False)


@pytest.mark.parametrize("words", [["a", "--keys", "-1"], ["a", "--buckets", "0"], ["a", "--sort"]])
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser("pipeline").parse_args(["pipeline", "stats", *words])
