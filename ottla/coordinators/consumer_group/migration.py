"""Live groups that change their protocol: a classic group whose first member comes with the new one, and the way back.

Upwards, the classic group's members become classic members of a consumer group with the assignment they have, and are
asked to join again as the target changes. Downwards, when the last member of the new protocol goes, or is replaced by a
classic one with its instance id, the rest becomes a classic group. `group.consumer.migration.policy` says what is
allowed. Upwards nothing changes before the records are replayed; downwards the classic group is there at once, for it
has to rebalance, and is taken back if its records cannot be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ottla.coordinators.classic.answers import join_refused, sync_refused
from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.classic.rebalance import Rebalancer
from ottla.coordinators.classic.records import group_record
from ottla.coordinators.consumer_group import tombstones
from ottla.coordinators.consumer_group.conversion import classic_from, consumer_records_of
from ottla.coordinators.consumer_group.deadlines import Deadlines
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.consumer_group.replay import replay
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.contract import Answer, Outcome, Record
from ottla.coordinators.group import Group
from ottla.coordinators.java_strings import timeline_map_order
from ottla.coordinators.write_errors import as_coordinator_error
from ottla.wire.errors import ErrorCode, KafkaError

R = TypeVar("R")


class Policy(NamedTuple):
    may_upgrade: bool
    may_downgrade: bool


POLICIES = {
    "bidirectional": Policy(True, True),
    "upgrade": Policy(True, False),
    "downgrade": Policy(False, True),
    "disabled": Policy(False, False),
}


class Migration:
    """`deadlines` is set once it exists: it needs what fences, and that needs this."""

    deadlines: Deadlines

    def __init__(self, around: Surroundings, rebalancer: Rebalancer) -> None:
        self._around = around
        self._rebalancer = rebalancer

    @property
    def policy(self) -> Policy:
        return POLICIES[self._around.state.settings.consumer_migration_policy.lower()]

    # -- upwards ------------------------------------------------------------------------------------------------------

    def upgrade(self, classic: ClassicGroup) -> tuple[ConsumerGroup, list[Record]]:
        """The consumer group that a classic group becomes, and the records that make it so.

        KafkaError(GROUP_ID_NOT_FOUND) if it may not or cannot.
        """
        self._check_upgrade(classic)
        drafted = consumer_records_of(classic, self._around.state.topics, self._around.metadata_hash)
        scratch: dict[str, Group] = {}
        for record in drafted:
            replay(scratch, record.key, record.value)
        group = scratch[classic.group_id]
        assert isinstance(group, ConsumerGroup)
        return group, [*classic.tombstones(), *drafted]

    def _check_upgrade(self, classic: ClassicGroup) -> None:
        reason = None
        if not self.policy.may_upgrade:
            reason = "the migration policy forbids it"
        elif not classic.uses_consumer_protocol:
            reason = "its members are no consumers"
        elif len(classic.members) > self._around.state.settings.consumer_members_max:
            reason = "it has more members than a consumer group may have"
        if reason is not None:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND, f"{classic.group_id} cannot become a consumer group: {reason}"
            )

    def call_back(self, classic: ClassicGroup, group: ConsumerGroup, now_ms: int) -> list[Answer]:
        """Whoever waits in the classic group is to join again; its members have their sessions in the new group."""
        answers = _refuse_waiting(classic, ErrorCode.REBALANCE_IN_PROGRESS)
        for member in group.members.values():
            assert member.classic is not None, "they come from a classic group"
            self.deadlines.session(group.group_id, member.member_id, now_ms + member.classic.session_timeout_ms)
        return answers

    # -- downwards ----------------------------------------------------------------------------------------------------

    def becomes_classic_without(self, group: ConsumerGroup, leaving: Sequence[Member]) -> bool:
        """Whether those who stay are classic members who may be a classic group."""
        staying = len(group.members) - len(leaving)
        classic = group.classic_count - sum(member.classic is not None for member in leaving)
        return 0 < staying == classic and self._fits(staying)

    def becomes_classic_by_replacing(self, group: ConsumerGroup, replaced: Member) -> bool:
        """Whether this is the one member of the new protocol, and a classic one in its place makes a classic group."""
        others_are_classic = group.classic_count == len(group.members) - 1 and replaced.classic is None
        return others_are_classic and self._fits(len(group.members))

    def _fits(self, member_count: int) -> bool:
        return self.policy.may_downgrade and member_count <= self._around.state.settings.classic_members_max

    def downgrade_without(
        self, group: ConsumerGroup, leaving: Sequence[Member], response: R, now_ms: int
    ) -> Outcome[R]:
        """The classic group that is left when these members go; it rebalances."""
        gone = {member.member_id for member in leaving}
        staying = [member for member in _as_in_kafka(group) if member.member_id not in gone]
        targets = {member.member_id: group.target_of(member.member_id) for member in staying}
        out = self._downgrade(group, classic_from(group, staying, targets, self._around.state.topics, now_ms), now_ms)
        out.records[:0] = group.tombstones()
        out.response = response
        classic = self._around.state.groups[group.group_id]
        assert isinstance(classic, ClassicGroup)
        self._rebalancer.prepare(classic, now_ms, out)
        return out

    def downgrade_replacing(
        self, group: ConsumerGroup, replaced: Member, joining: Member, *, rebalances: bool, now_ms: int
    ) -> Outcome[Any]:
        """The classic group in which a classic member stands in the place of the last one of the new protocol."""
        members = [member for member in _as_in_kafka(group) if member.member_id != replaced.member_id]
        targets = {member.member_id: group.target_of(member.member_id) for member in members}
        targets[joining.member_id] = group.target_of(replaced.member_id)
        topics = self._around.state.topics
        out = self._downgrade(group, classic_from(group, [*members, joining], targets, topics, now_ms), now_ms)
        # The one who comes has been written in the place of the one who goes.
        ids = [joining.member_id if id_ == replaced.member_id else id_ for id_ in group.members]
        out.records[:0] = tombstones.of_group(group.group_id, ids, group.resolved)
        if rebalances:
            classic = self._around.state.groups[group.group_id]
            assert isinstance(classic, ClassicGroup)
            self._rebalancer.prepare(classic, now_ms, out)
        return out

    def _downgrade(self, group: ConsumerGroup, classic: ClassicGroup, now_ms: int) -> Outcome[Any]:
        state = self._around.state
        assignments = {member.member_id: member.assignment for member in classic.members.values()}
        out: Outcome[Any] = Outcome(records=[group_record(classic, assignments)], is_replayed=False)
        state.groups[group.group_id] = classic
        state.forget_timers(group)
        for member in classic.members.values():
            self._rebalancer.expect_heartbeat(classic, member, now_ms)

        def then(error: KafkaError | None, now_ms: int) -> Outcome[None]:
            if error is not None and self._rebalancer.is_here(classic):
                state.forget_timers(classic)
                state.groups[group.group_id] = group
                times = self._around.times_of(group.group_id)
                self.deadlines.start(group.group_id, group.members.values(), times.session_timeout_ms, now_ms)
                return Outcome(answers=_refuse_waiting(classic, as_coordinator_error(error).code))
            return Outcome()

        out.then = then
        return out


def _refuse_waiting(classic: ClassicGroup, code: ErrorCode) -> list[Answer]:
    answers = [Answer(token, join_refused(code, id_)) for id_, token in classic.join_tokens.items()]
    answers += (Answer(token, sync_refused(code)) for token in classic.sync_tokens.values())
    classic.join_tokens.clear()
    classic.sync_tokens.clear()
    return answers


def _as_in_kafka(group: ConsumerGroup) -> list[Member]:
    """The members in Kafka's order: the first of them leads the classic group."""
    return [group.members[member_id] for member_id in timeline_map_order(group.members, group.size_max)]
