"""The regular expressions of a group: taken in with a heartbeat, resolved a moment later, looked at again now and then.

An expression is checked when the first member brings it, and resolved by a timer that is due at once, for a heartbeat
must not wait for a walk over all topics. The group's epoch grows when the matched topics are known. All expressions of
a group are resolved together: when one is new, when topics came, and every `group.consumer.regex.refresh.interval.ms`,
but not more often than every ten seconds.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum

from ottla.coordinators.consumer_group import records, tombstones
from ottla.coordinators.consumer_group.epochs import bump_for
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Outcome, Record
from ottla.coordinators.subscriptions import ResolvedRegex, all_wanted_names, compiled, matching

REFRESH_INTERVAL_MS_MIN = 10_000


class Change(Enum):
    """What a heartbeat did to the expressions of its group."""

    NONE = "none"
    UNRESOLVED = "unresolved"
    RESOLVED = "resolved"


def take_in(
    group: ConsumerGroup, old: str, member: Member, around: Surroundings, drafted: list[Record], now_ms: int
) -> Change:
    """Take in what a member subscribes with now, and have the group's expressions resolved if it is time.

    KafkaError(INVALID_REGULAR_EXPRESSION) if it cannot be compiled.
    """
    new = member.subscription.regex
    if not old and not new and not group.regexes:
        return Change.NONE
    change = Change.NONE
    is_first = False
    if new != old:
        is_first = bool(new) and not group.regex_count(new)
        if is_first:
            compiled(new)
        if old and group.regex_count(old) == 1:
            drafted.append(tombstones.of_regex(group.group_id, old))
        change = Change.RESOLVED if not new or (not is_first and new in group.resolved) else Change.UNRESOLVED
    expressions = _expressions_after(group, old, new)
    if expressions and _is_due(group, expressions, is_first, around, now_ms):
        around.state.timers.schedule(
            ("consumer-regex", group.group_id), now_ms, lambda later_ms: resolve(group.group_id, around, later_ms)
        )
    return change


def _expressions_after(group: ConsumerGroup, old: str, new: str) -> frozenset[str]:
    counts = Counter({regex: group.regex_count(regex) for regex in group.regexes})
    counts[old] -= 1
    counts[new] += 1
    return frozenset(regex for regex, count in counts.items() if regex and count > 0)


def _is_due(
    group: ConsumerGroup, expressions: frozenset[str], is_first: bool, around: Surroundings, now_ms: int
) -> bool:
    if ("consumer-regex", group.group_id) in around.state.timers:
        return False
    last = next(iter(group.resolved.values()), None)
    if last is None:
        return True
    if now_ms <= last.timestamp_ms + REFRESH_INTERVAL_MS_MIN:
        return False
    return (
        is_first
        or len(expressions) != len(group.resolved)
        or last.version < around.new_topics_version
        or now_ms > last.timestamp_ms + around.state.settings.consumer_regex_refresh_interval_ms
    )


def resolve(group_id: str, around: Surroundings, now_ms: int) -> Outcome[None]:
    """Match all expressions of a group against the topics there are; its epoch grows if that changes what it wants."""
    group = around.state.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        return Outcome()
    topics = around.state.topics
    names = sorted(topics.names())
    resolved = {regex: ResolvedRegex(matching(regex, names), topics.version, now_ms) for regex in sorted(group.regexes)}
    drafted = [records.resolved_regex(group_id, regex, found) for regex, found in resolved.items()]
    changed = any(
        found.topics != (group.resolved[regex].topics if regex in group.resolved else frozenset())
        for regex, found in resolved.items()
    )
    metadata_hash = around.metadata_hash(all_wanted_names(group.subscriptions, {**group.resolved, **resolved}))
    if changed or metadata_hash != group.metadata_hash:
        bump_for(group, metadata_hash, drafted, now_ms)
    return Outcome(records=drafted)
