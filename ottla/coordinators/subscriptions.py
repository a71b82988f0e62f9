"""What members subscribe to: topics by name, and topics whose whole name a regular expression matches (RE2).

RE2 takes time linear in the name and bounded memory, whatever the expression; look-around and back-references it does
not have. An expression is resolved once for a group and kept with the topics it matched. Nothing here knows members,
epochs or who may see a topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ottla.wire.errors import ErrorCode, KafkaError

# An expression longer than a topic name can be is no use, and RE2's own limit of memory is generous.
REGEX_BYTES_MAX = 8 << 10
REGEX_MEMORY_BYTES_MAX = 1 << 20


class Subscription(NamedTuple):
    """Topic names, and a regular expression ("" for none)."""

    names: frozenset[str]
    regex: str = ""


NOTHING = Subscription(frozenset())


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that an expression matched, in which version of the metadata, and when."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


def compiled(regex: str) -> Any:
    """The expression for `fullmatch`, or KafkaError(INVALID_REGULAR_EXPRESSION)."""
    import re2  # type: ignore[import-untyped]  # loaded by those who use expressions, and by nobody else

    if len(regex.encode()) > REGEX_BYTES_MAX:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"the expression is longer than {REGEX_BYTES_MAX} bytes")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = REGEX_MEMORY_BYTES_MAX
    try:
        return re2.compile(regex, options)
    except re2.error as error:
        (reason,) = error.args
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"`{regex}` is not valid: {text}") from None


def matching(regex: str, topic_names: Iterable[str]) -> frozenset[str]:
    """The topics whose whole name the expression matches."""
    pattern = compiled(regex)
    return frozenset(name for name in topic_names if pattern.fullmatch(name) is not None)


def wanted_names(subscription: Subscription, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """All names a subscription comes to; an expression that is not resolved yet matches nothing."""
    found = resolved.get(subscription.regex) if subscription.regex else None
    return subscription.names | found.topics if found is not None else subscription.names


def all_wanted_names(subscriptions: Iterable[Subscription], resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """The names that any of the subscriptions comes to."""
    return frozenset().union(*(wanted_names(subscription, resolved) for subscription in subscriptions))


def all_alike(subscriptions: Iterable[Subscription]) -> bool:
    """Whether all members want the same topics; names beside an expression count as a mixture, as they do in Kafka."""
    distinct = list(subscriptions)
    return not distinct or (len(distinct) == 1 and not (distinct[0].names and distinct[0].regex))
