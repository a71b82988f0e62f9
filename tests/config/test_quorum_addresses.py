"""Addresses of controllers are read, or refused with a word on what they should be."""

from __future__ import annotations

import pytest

from ottla.config.quorum_addresses import (
    BOOTSTRAP_SERVERS,
    QUORUM_VOTERS,
    Voter,
    bootstrap_servers,
    host_and_port,
    is_host,
    voters,
)


def test_voters_have_an_id_a_host_and_a_port() -> None:
    assert voters(["1@h:9093", "2@[::1]:1"]) == {1: Voter(1, "h", 9093), 2: Voter(2, "::1", 1)}
    assert QUORUM_VOTERS.complaint(("1@h:9093",)) == ""


@pytest.mark.parametrize(
    "entry", ["h:1", "x@h:1", "-1@h:1", "1@h", "1@h:x", "1@h:65536", "1@h:1@2", "9999999999@h:1", "@h:1"]
)
def test_what_is_no_voter_is_refused(entry: str) -> None:
    assert QUORUM_VOTERS.complaint((entry,)).startswith("must be a list of")


def test_bootstrap_servers_have_a_host_and_a_port() -> None:
    assert bootstrap_servers(["h:1", "[::1]:2"]) == [("h", 1), ("::1", 2)]
    assert host_and_port("plain://h:1") == ("h", 1)
    assert BOOTSTRAP_SERVERS.complaint(("h:1",)) == ""
    assert BOOTSTRAP_SERVERS.complaint(("h",)) == "must be a list of HOST:PORT; 'h' is not"


def test_a_host_has_no_blanks() -> None:
    assert is_host("a-b.c")
    assert is_host("::1")
    assert not is_host("a b")
