"""What `ottla cluster` takes. What its command does: test_cluster_info.py."""

from __future__ import annotations

import pytest

from ottla import cli


def test_words_become_values() -> None:
    parsed = cli.parser().parse_args(["cluster", "info", "--json", "-b", "h:1"])
    assert (parsed.json, parsed.bootstrap_server) == (True, "h:1")


def test_what_is_missing_is_refused() -> None:
    with pytest.raises(SystemExit):
        cli.parser().parse_args(["cluster"])
