"""What `ottla produce` takes. What it does: test_produce_lines.py."""

from __future__ import annotations

import pytest

from ottla import cli
from ottla.commands.produce import ACKS, CODECS
from ottla.wire.records import Codec


def test_words_become_values() -> None:
    parsed = cli.parser().parse_args(["produce", "t", "--header", "a=b", "--header", "c=", "--acks", "1"])
    assert (parsed.header, ACKS[parsed.acks], parsed.compression) == ([("a", "b"), ("c", "")], 1, "none")


def test_every_codec_is_one_of_kafka() -> None:
    assert {codec.upper() for codec in CODECS} == set(Codec.__members__)


@pytest.mark.parametrize("words", [[], ["t", "--acks", "2"], ["t", "--key", "a", "--key-separator", ":"]])
def test_what_is_missing_or_wrong_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["produce", *words])
