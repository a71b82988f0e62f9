"""What `ottla consume` takes. What it does: test_consume_records.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    words = ["consume", "t", "--offset", "-10", "--partition", "1", "--partition", "2", "-n", "5", "-f"]
    parsed = cli.parser().parse_args(words)
    assert (parsed.offset, parsed.partition, parsed.max_messages, parsed.follow) == (-10, [1, 2], 5, True)


def test_a_time_before_now_is_no_option() -> None:
    parsed = cli.parser().parse_args(cli.joined(["consume", "t", "--since", "-10m", "--until", "-1s"]))
    assert (parsed.since, parsed.until) == ("-10m", "-1s")


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--format", "x"],
        ["--since", "now", "--offset", "1"],
        ["--until", "now", "--follow"],
        ["--key", "k", "--partition", "1"],
        ["--max-messages", "0"],
    ],
)
def test_what_contradicts_itself_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["consume", "t", *words])
