"""Members that join a consumer group at about the same time are assigned together.

Where many start at once, each join makes a new target, and most of what members are told is out of date when they hear
it: they take partitions, are asked for them back, and say so, two requests for each that would do. So a join waits
until there is a look at the sockets that finds no more of its group. All but the last only enter the group; then it is
assigned once, and each is answered as if it had joined alone. Whoever asks anything else of the group comes after them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from ottla.coordinators.contract import Outcome, RequestContext
from ottla.coordinators.shard import GroupShard
from ottla.server.led_shard import Call, Tell
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest

log = logging.getLogger(__name__)

# Others have their turn behind so many.
GROUPS_AT_ONCE = 16


class _Join(NamedTuple):
    request: ConsumerGroupHeartbeatRequest
    context: RequestContext
    tell: Tell


class JoinsTogether:
    def __init__(
        self, ask: Callable[[str, Call, Tell], None], after_look: Callable[[Callable[[bool], None]], None]
    ) -> None:
        """`after_look` is told what to call once, behind the look under way, with whether there may be more to come."""
        self._ask = ask
        self._after_look = after_look
        self._held: dict[str, list[_Join]] = {}
        # Groups that somebody has come for in the look under way.
        self._growing: set[str] = set()
        self._is_expected = False

    def hold(self, request: ConsumerGroupHeartbeatRequest, context: RequestContext, tell: Tell) -> None:
        """Tell the answer when those who come together with this one have been heard."""
        self._held.setdefault(request.group_id, []).append(_Join(request, context, tell))
        self._growing.add(request.group_id)
        self._expect()

    def _expect(self) -> None:
        if not self._is_expected:
            self._is_expected = True
            self._after_look(self._go_on)

    def _go_on(self, may_be_more: bool) -> None:
        """Let in those of some of the groups that nobody else has come for."""
        self._is_expected = False
        growing, self._growing = self._growing if may_be_more else set(), set()
        for group_id in [group_id for group_id in self._held if group_id not in growing][:GROUPS_AT_ONCE]:
            self.let_in(group_id)
        if self._held:
            self._expect()

    def let_all_in(self) -> None:
        for group_id in list(self._held):
            self.let_in(group_id)

    def let_in(self, group_id: str) -> None:
        """Have those join who are held for this group."""
        *others, last = self._held.pop(group_id, ()) or (None,)
        if last is None:
            return
        for join in others:
            self._do(join, _enter, _nobody)
        for join in (last, *others):
            self._do(join, _answer, join.tell)

    def _do(self, join: _Join, step: Callable[[_Join, GroupShard, Any, int], Outcome[Any]], tell: Tell) -> None:
        try:
            self._ask(join.request.group_id, partial(step, join), tell)
        except KafkaError as error:
            tell(error.kept())
        except Exception:
            # Our own mistake. Whoever asked is not waited for by a dispatcher any more, who would say so.
            log.exception("%s cannot join %s", join.request.member_id, join.request.group_id)
            tell(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker made a mistake"))


def _enter(join: _Join, shard: GroupShard, token: object, now_ms: int) -> Outcome[None]:
    return shard.consumer_enter(join.request, join.context, now_ms)


def _answer(join: _Join, shard: GroupShard, token: object, now_ms: int) -> Outcome[Any]:
    return shard.consumer_heartbeat(join.request, join.context, now_ms)


def _nobody(told: object) -> None:
    """Who only enters is answered later, with what is wrong if anything is."""
