"""DescribeQuorum: the quorum's own answer, as it is."""

from __future__ import annotations

from ottla.wire.messages.quorum import DescribeQuorumRequest
from tests.server.handler_world import World


def test_the_quorum_answers_for_itself(world: World) -> None:
    assert world.ask(DescribeQuorumRequest(topics=[])).error_message == "version 2"
