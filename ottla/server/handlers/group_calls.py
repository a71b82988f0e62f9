"""Asking the group coordinator: an answer that is there at once is returned, one that is not is pending.

A client that waits for its group gets no other answers meanwhile, as in Kafka. Requests about several groups are asked
of the shard of each; what one of them fails with concerns that one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ottla.coordinators.contract import Outcome, RequestContext
from ottla.coordinators.shard import GroupShard
from ottla.server.context import Context
from ottla.server.handlers.authorized_operations import GROUP_OPERATIONS
from ottla.server.led_shard import LedShard, Tell
from ottla.server.parking import Pending
from ottla.wire.errors import KafkaError

K = TypeVar("K")
GroupCall = Callable[[GroupShard, int], Outcome[Any]]

# Kafka writes addresses as Java prints them: a host name that was not looked up, a slash, the address.
NO_HOST_NAME = "/"
ERROR_TEXT_LENGTH_MAX = 1_000


def error_text(error: KafkaError) -> str:
    """A message that names things by their own names may be longer than a response can hold."""
    return error.message[:ERROR_TEXT_LENGTH_MAX]


def request_context(context: Context) -> RequestContext:
    return RequestContext(context.client_id or "", f"{NO_HOST_NAME}{context.client_host}", context.version)


class _Reply:
    """A reply between being asked for and being there."""

    __slots__ = ("_build", "_early", "_pending")

    def __init__(self, build: Callable[[Any], Any]) -> None:
        self._build = build
        # Nearly always one of them: what was told before the handler returned, or what is told later.
        self._early: Any = None
        self._pending: Pending | None = None

    def tell(self, told: Any) -> None:
        if self._pending is None:
            self._early = told
        elif isinstance(told, KafkaError):
            self._pending.fail(told)
        else:
            self._pending.complete(self._build(told))

    def result(self) -> Any:
        """The response, or a Pending; an error is raised."""
        if self._early is None:
            self._pending = Pending(stops_line=True, may_fail=True)
            return self._pending
        if isinstance(self._early, KafkaError):
            raise self._early
        return self._build(self._early)


def ask_group(
    context: Context,
    group_id: str,
    call: Callable[[GroupShard, Any, int], Outcome[Any]],
    build: Callable[[Any], Any] = lambda response: response,
) -> Any:
    """The response that a shard gives about one group. `call` gets the shard, a token and the time."""
    return told(lambda tell: context.broker.groups.ask(group_id, call, tell), build)


def told(ask: Callable[[Tell], None], build: Callable[[Any], Any] = lambda response: response) -> Any:
    """The response that is built out of what is told, once, to whoever asks so."""
    reply = _Reply(build)
    ask(reply.tell)
    return reply.result()


def ask_groups(context: Context, calls: Mapping[K, tuple[str, GroupCall]], build: Callable[[dict[K, Any]], Any]) -> Any:
    """The response that is built out of what each shard says, or the KafkaError, by the keys of the calls."""

    def asking(group_id: str, call: GroupCall) -> Callable[[Tell], None]:
        def ask(tell: Tell) -> None:
            try:
                context.broker.groups.ask(group_id, lambda shard, token, now_ms: call(shard, now_ms), tell)
            except KafkaError as error:
                tell(error.kept())

        return ask

    return _together({key: asking(*one) for key, one in calls.items()}, build)


def ask_shards(context: Context, call: GroupCall, build: Callable[[list[Any]], Any]) -> Any:
    """The response that is built out of what all shards say. KafkaError while one of them is being loaded."""

    def asking(shard: LedShard) -> Callable[[Tell], None]:
        return lambda tell: shard.ask(lambda core, token, now_ms: call(core, now_ms), tell)

    shards = dict(enumerate(context.broker.groups.shards()))
    return _together(
        {number: asking(shard) for number, shard in shards.items()},
        lambda told: build([one for one in told.values() if not isinstance(one, KafkaError)]),
    )


def _together(asks: Mapping[K, Callable[[Tell], None]], build: Callable[[dict[K, Any]], Any]) -> Any:
    told: dict[K, Any] = {}
    reply = _Reply(build)

    def telling(key: K) -> Tell:
        def tell(response: Any) -> None:
            told[key] = response
            if len(told) == len(asks):
                reply.tell(told)

        return tell

    for key, ask in asks.items():
        ask(telling(key))
    if not asks:
        reply.tell(told)
    return reply.result()


def by_partition(context: Context, group_ids: Iterable[str]) -> dict[int | None, list[str]]:
    """Groups by the shard that keeps them, each group once, so that a shard is asked once."""
    found: dict[int | None, list[str]] = {}
    for group_id in dict.fromkeys(group_ids):
        found.setdefault(context.broker.groups.place_of(group_id), []).append(group_id)
    return found


def describe_each(
    context: Context,
    request: Any,
    group_ids: list[str],
    call: Callable[[GroupShard, list[str]], Outcome[Any]],
    refused: Callable[[str, KafkaError], Any],
    build: Callable[[list[Any]], Any],
) -> Any:
    """The response that is built out of one description per group that was named, in that order.

    `refused` describes a group whose shard could not be asked. Operations are told where the request wants them.
    """
    places = by_partition(context, group_ids)

    def gather(told: dict[int | None, Any]) -> Any:
        found: dict[str, Any] = {}
        for place, ids in places.items():
            answer = told[place]
            if isinstance(answer, KafkaError):
                answer = [refused(group_id, answer) for group_id in ids]
            found.update({one.group_id: one for one in answer})
        for one in found.values():
            if request.include_authorized_operations and not one.error_code:
                one.authorized_operations = GROUP_OPERATIONS
        return build([found[group_id] for group_id in group_ids])

    def asking(ids: list[str]) -> GroupCall:
        return lambda shard, now_ms: call(shard, ids)

    return ask_groups(context, {place: (ids[0], asking(ids)) for place, ids in places.items()}, gather)
