"""What `ottla pipeline archive` takes. What it does: test_archive_run.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["pipeline", "archive", "a", "b", "-o", "out", "--by", "hour", "--once", "--from", "latest"]
    words += ["--client", "security.protocol=SSL", "--batch-records", "7", "--every", "0.5"]
    parsed = cli.parser("pipeline").parse_args(words)
    assert (parsed.topics, parsed.output, parsed.by, parsed.once, parsed.start) == (
        ["a", "b"],
        "out",
        "hour",
        True,
        "latest",
    )
    assert (parsed.client, parsed.batch_records, parsed.every) == ([("security.protocol", "SSL")], 7, 0.5)
    assert (parsed.compact, parsed.compact_only, parsed.skip_lost, parsed.checkpoint) == (False, False, False, None)


@pytest.mark.parametrize(
    "words", [["a"], ["a", "-o", "out", "--by", "year"], ["a", "-o", "out", "--batch-records", "0"]]
)
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser("pipeline").parse_args(["pipeline", "archive", *words])
