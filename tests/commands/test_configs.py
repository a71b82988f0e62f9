"""What `ottla configs` takes. What its commands do: test_config_commands.py."""

from __future__ import annotations

import pytest

from ottla import cli
from ottla.client.configs import ResourceType
from ottla.commands.configs import KINDS


def test_words_become_values() -> None:
    parsed = cli.parser().parse_args(["configs", "set", "topic", "t", "a=1", "b=2,3"])
    assert (parsed.kind, parsed.name, parsed.settings) == ("topic", "t", [("a", "1"), ("b", "2,3")])


def test_every_kind_is_one_of_kafka() -> None:
    assert {kind.upper().replace("-", "_") for kind in KINDS} == set(ResourceType.__members__)


@pytest.mark.parametrize("words", [["set", "topic", "t"], ["describe", "planet", "x"], ["delete", "topic", "t"]])
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["configs", *words])
