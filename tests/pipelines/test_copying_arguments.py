"""Arguments of pipelines that copy."""

from __future__ import annotations

import argparse

import pytest

from ottla.pipelines.copying import CODECS
from ottla.pipelines.copying_arguments import COMPRESSIONS, add_target, add_timeout


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_target(parser)
    add_timeout(parser)
    return parser.parse_args(words)


def test_words_become_values() -> None:
    found = parsed("--rename", "a=b", "--config", "k=v", "--replication-factor", "3", "--timeout", "2")
    assert (found.rename, found.config, found.replication_factor) == ([("a", "b")], [("k", "v")], 3)
    assert (found.timeout, found.compression) == (2.0, "none")


def test_every_codec_can_be_chosen() -> None:
    assert sorted(CODECS) == list(COMPRESSIONS)
    with pytest.raises(SystemExit):
        parsed("--compression", "zip")
