"""What a heartbeat, or the join of a classic member, does to its group: three steps, each leaving records.

1. The member is entered or changed; the group's epoch grows if that, or its topics, changed what it wants.
2. If the group's epoch has passed that of the target, a new target is computed.
3. The member goes one step towards its target.

Nothing here answers anybody, and nothing of the group changes before the records are replayed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ottla.coordinators.consumer_group import expressions, records, target, tombstones
from ottla.coordinators.consumer_group.deadlines import Deadlines
from ottla.coordinators.consumer_group.epochs import REFRESH_INTERVAL_MS, bump_for
from ottla.coordinators.consumer_group.expressions import Change
from ottla.coordinators.consumer_group.group import ConsumerGroup, Refresh
from ottla.coordinators.consumer_group.member import Member, MemberState
from ottla.coordinators.consumer_group.reconciliation import OwnedPartitions, Step, reconcile
from ottla.coordinators.consumer_group.surroundings import Surroundings, offered_assignors
from ottla.coordinators.consumer_group.target import Target
from ottla.coordinators.contract import Record
from ottla.coordinators.subscriptions import Subscription, all_alike, all_wanted_names, wanted_names


@dataclass(slots=True)
class Progress:
    """One member of a group on its way through the three steps.

    `old` is the member as it was, or as a new one begins; `is_known` says whether the group counts it already, under
    this id or under that of the static member whose place it takes.
    """

    group: ConsumerGroup
    old: Member
    is_known: bool
    around: Surroundings
    deadlines: Deadlines
    drafted: list[Record]
    now_ms: int
    subscription_changed: bool = False
    epoch: int = 0
    alike: bool = True

    def enter(self, member: Member, *, bump_for_unresolved: bool = False) -> None:
        """Step 1. An expression that is not resolved yet makes no new epoch, unless `bump_for_unresolved` says so."""
        group = self.group
        names_changed = member.subscription.names != self.old.subscription.names
        if member != self.old:
            self.drafted.append(records.member_metadata(group.group_id, member))
        change = expressions.take_in(group, self.old.subscription.regex, member, self.around, self.drafted, self.now_ms)
        self.subscription_changed = names_changed or change is not Change.NONE
        must_bump = names_changed or change is Change.RESOLVED or (bump_for_unresolved and change is not Change.NONE)
        after = self._subscriptions_with(member)
        self.epoch, self.alike = group.epoch, all_alike(after)
        if must_bump or group.needs_refresh(self.now_ms):
            self._look_at_topics(after, must_bump)

    def _subscriptions_with(self, member: Member) -> Collection[Subscription]:
        """The subscriptions that there are, each once, when the member has come or changed."""
        known = self.group.subscriptions
        if self.is_known and known[self.old.subscription] == 1 and member.subscription != self.old.subscription:
            return {*known, member.subscription} - {self.old.subscription}
        return known if member.subscription in known else {*known, member.subscription}

    def _look_at_topics(self, subscriptions: Collection[Subscription], must_bump: bool) -> None:
        group = self.group
        metadata_hash = self.around.metadata_hash(all_wanted_names(subscriptions, group.resolved))
        if must_bump or metadata_hash != group.metadata_hash:
            self.epoch = bump_for(group, metadata_hash, self.drafted, self.now_ms)
        else:
            group.refresh = Refresh(self.now_ms + REFRESH_INTERVAL_MS, self.epoch)
        if group.has_old_topics_record:
            self.drafted.append(tombstones.of_old_topics(group.group_id))

    def assign(self, member: Member) -> Target:
        """Step 2: the member's part of the target, of a new one if that is due."""
        group = self.group
        if group.target_epoch >= self.epoch:
            return self.last_target(member)
        interval_ms = self.around.times_of(group.group_id).assignment_interval_ms
        if not target.may_be_computed(group, interval_ms, self.now_ms):
            return self.last_target(member)
        default = offered_assignors(self.around.state.settings)[0]
        assignor = target.preferred_assignor(group, self.old if self.is_known else None, member, default)
        computed = target.next_target(group, member, assignor, self.alike, self.around)
        self.drafted += target.changes(group, self.epoch, computed, self.now_ms)
        return Target(self.epoch, computed[member.member_id])

    def last_target(self, member: Member) -> Target:
        group = self.group
        holder = member.member_id
        if member.instance_id is not None:
            holder = group.static_members.get(member.instance_id, "")
        return Target(group.target_epoch, group.target_of(holder))

    def step(self, member: Member, towards: Target, owned: OwnedPartitions | None) -> Member:
        """Step 3: the member after it."""
        if not self.subscription_changed and member.is_reconciled_to(towards.epoch):
            return member
        group = self.group
        after = reconcile(
            member,
            Step(
                target_epoch=towards.epoch,
                target=towards.partitions,
                subscribed_topics=self.around.topic_ids(wanted_names(member.subscription, group.resolved)),
                subscription_changed=self.subscription_changed,
                owned=owned,
                is_held=group.is_held,
            ),
        )
        if after != member:
            self.drafted.append(records.current_assignment(group.group_id, after))
            if after.classic is None:
                self._watch_revocation(after)
        return after

    def _watch_revocation(self, member: Member) -> None:
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self.deadlines.revocation(self.group.group_id, member, self.now_ms)
        else:
            self.deadlines.no_revocation(self.group.group_id, member.member_id)
