"""Those who join a group together are assigned with the last of them; each has an answer, whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ottla.coordinators.contract import RequestContext
from ottla.server.joining_together import GROUPS_AT_ONCE, JoinsTogether
from ottla.server.led_shard import Call, Tell
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

CONTEXT = RequestContext("client", "/127.0.0.1", 1)


class Story:
    """Writes down what the shard is asked, which is what those are told who are told anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: list[Any] = []
        self.behind: list[Callable[[bool], None]] = []
        self.failure: Exception | None = None
        self.joins = JoinsTogether(self._ask, self.behind.append)

    def _ask(self, group_id: str, call: Call, tell: Tell) -> None:
        if self.failure is not None:
            raise self.failure
        call(self, tell, 0)  # type: ignore[arg-type]
        tell(self.asked[-1])

    def consumer_enter(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int) -> None:
        self.asked.append(f"{request.member_id} enters {request.group_id}")

    def consumer_heartbeat(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, now_ms: int) -> None:
        self.asked.append(f"{request.member_id} joins {request.group_id}")

    def hold(self, *names: str, group_id: str = "g") -> None:
        for name in names:
            request = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id=name, member_epoch=0)
            self.joins.hold(request, CONTEXT, self.told.append)

    def come_behind(self, *, may_be_more: bool = False) -> None:
        """A look has ended, which may have found somebody."""
        work, self.behind[:] = list(self.behind), []
        for go_on in work:
            go_on(may_be_more)


@pytest.fixture
def story() -> Story:
    return Story()


def test_all_but_the_last_enter_first_and_each_is_answered_once(story: Story) -> None:
    story.hold("a", "b", "c")
    assert story.asked == []
    story.come_behind()
    assert story.asked == ["a enters g", "b enters g", "c joins g", "a joins g", "b joins g"]
    assert story.told == ["c joins g", "a joins g", "b joins g"]


def test_who_is_alone_simply_joins(story: Story) -> None:
    story.hold("a")
    story.come_behind()
    story.hold("b")
    story.come_behind()
    assert story.asked == ["a joins g", "b joins g"]


def test_each_group_is_joined_for_itself(story: Story) -> None:
    story.hold("a", "b")
    story.hold("x", group_id="h")
    story.joins.let_in("g")
    assert story.asked == ["a enters g", "b joins g", "a joins g"]
    story.joins.let_in("g")
    story.come_behind()
    assert story.asked[3:] == ["x joins h"]


def test_a_group_waits_for_a_look_that_finds_no_more_of_it(story: Story) -> None:
    story.hold("a")
    story.hold("x", group_id="h")
    story.come_behind(may_be_more=True)
    assert story.asked == []
    story.hold("b")
    story.come_behind(may_be_more=True)
    assert story.asked == ["x joins h"]
    story.come_behind(may_be_more=True)
    assert story.asked[1:] == ["a enters g", "b joins g", "a joins g"]
    assert story.behind == []


def test_others_have_their_turn_behind_some_groups(story: Story) -> None:
    for number in range(GROUPS_AT_ONCE + 1):
        story.hold("a", group_id=f"g{number}")
    story.come_behind()
    assert len(story.asked) == GROUPS_AT_ONCE
    story.come_behind()
    assert story.asked[GROUPS_AT_ONCE:] == [f"a joins g{GROUPS_AT_ONCE}"]


def test_where_there_is_no_coordinator_any_more_all_are_told_so(story: Story) -> None:
    story.hold("a", "b")
    story.failure = KafkaError(ErrorCode.NOT_COORDINATOR, "g is coordinated elsewhere")
    story.come_behind()
    assert [error.code for error in story.told] == [ErrorCode.NOT_COORDINATOR] * 2


def test_a_mistake_of_ours_is_answered_and_leaves_other_groups_alone(
    story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    story.hold("a", "b")
    story.hold("x", group_id="h")
    story.failure = ValueError("a mistake")
    story.joins.let_in("g")
    assert [error.code for error in story.told] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert "cannot join g" in caplog.text
    story.failure = None
    story.come_behind()
    assert story.told[2:] == ["x joins h"]
