"""What `ottla groups` takes. What its commands do: test_group_commands.py and its neighbours."""

from __future__ import annotations

import pytest

from ottla import cli

RESET = ["groups", "reset-offsets", "g"]


def test_words_become_values() -> None:
    parsed = cli.parser().parse_args([*RESET, "--topic", "t:0,1", "--topic", "u", "--shift", "-5"])
    assert (parsed.topic, parsed.shift, parsed.execute) == (["t:0,1", "u"], -5, False)
    assert cli.parser().parse_args(["groups", "watch", "g"]).interval == 2.0


@pytest.mark.parametrize(
    "words",
    [
        [*RESET, "--topic", "t"],
        [*RESET, "--to-latest"],
        [*RESET, "--topic", "t", "--to-latest", "--to-earliest"],
        [*RESET, "--topic", "t", "--all-topics", "--to-latest"],
        [*RESET, "--topic", "t", "--to-offset", "-1"],
        ["groups", "watch", "g", "--interval", "0"],
        ["groups", "describe"],
    ],
)
def test_what_is_missing_or_contradicts_itself_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(words)
