"""One step of a member towards its target: by hand, and against Kafka's own CurrentAssignmentBuilder."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from ottla.coordinators.consumer_group.member import EpochedPartitions, Member, MemberState
from ottla.coordinators.consumer_group.reconciliation import Step, reconcile
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text
from tests.coordinators import kafka_groups
from tests.coordinators.kafka_groups import shown, topic_id

A, B = topic_id(1), topic_id(2)
STEPS = 3000


def step(
    target: Mapping[bytes, set[int]],
    *,
    epoch: int = 2,
    owned: Mapping[bytes, list[int]] | None = None,
    held: set[tuple[bytes, int]] | None = None,
    changed: bool = False,
    subscribed: tuple[bytes, ...] = (A, B),
) -> Step:
    return Step(
        target_epoch=epoch,
        target={topic: frozenset(partitions) for topic, partitions in target.items()},
        subscribed_topics=frozenset(subscribed),
        subscription_changed=changed,
        owned=owned,
        is_held=lambda topic, partition: (topic, partition) in (held or set()),
    )


def test_free_partitions_are_taken_in_the_epoch_of_the_target() -> None:
    member = reconcile(Member("m"), step({A: {0, 1}}))
    assert member == Member("m", epoch=2, previous_epoch=0, assigned={A: {0: 2, 1: 2}})


def test_what_is_not_in_the_target_is_given_back_before_anything_is_taken() -> None:
    before = Member("m", epoch=1, assigned={A: {0: 1, 1: 1}})
    asked = reconcile(before, step({A: {1}, B: {0}}))
    assert asked == Member(
        "m",
        epoch=1,
        previous_epoch=1,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={A: {1: 1}},
        pending_revocation={A: {0: 1}},
    )
    still = reconcile(asked, step({A: {1}, B: {0}}, owned={A: [0, 1]}))
    silent = reconcile(asked, step({A: {1}, B: {0}}))
    assert still is asked
    assert silent is asked
    done = reconcile(asked, step({A: {1}, B: {0}}, owned={A: [1]}))
    assert done == Member("m", epoch=2, previous_epoch=1, assigned={A: {1: 1}, B: {0: 2}})


def test_what_is_not_owned_any_more_needs_no_giving_back() -> None:
    before = Member("m", epoch=1, assigned={A: {0: 1}})
    assert reconcile(before, step({}, owned={})) == Member("m", epoch=2, previous_epoch=1)


def test_what_others_hold_comes_later() -> None:
    waiting = reconcile(Member("m"), step({A: {0, 1}}, held={(A, 1)}))
    assert (waiting.state, waiting.assigned) == (MemberState.UNRELEASED_PARTITIONS, {A: {0: 2}})
    still = reconcile(waiting, step({A: {0, 1}}, held={(A, 0), (A, 1)}))
    assert (still.state, still.assigned) == (MemberState.UNRELEASED_PARTITIONS, {A: {0: 2}})
    done = reconcile(waiting, step({A: {0, 1}}, held={(A, 0)}))
    assert (done.state, done.assigned) == (MemberState.STABLE, {A: {0: 2, 1: 2}})


def test_a_partition_that_a_member_is_giving_back_is_its_own_to_take_again() -> None:
    before = Member(
        "m", epoch=1, state=MemberState.UNREVOKED_PARTITIONS, assigned={A: {1: 1}}, pending_revocation={A: {0: 1}}
    )
    after = reconcile(before, step({A: {0, 1}}, owned={A: [1]}, held={(A, 0), (A, 1)}))
    assert (after.state, after.assigned) == (MemberState.STABLE, {A: {1: 1, 0: 2}})


def test_a_member_at_its_target_stays_as_it_is() -> None:
    member = Member("m", epoch=2, assigned={A: {0: 1}})
    assert reconcile(member, step({A: {0, 1}})) is member
    assert reconcile(member, step({A: {0, 1}}, changed=True)) is member


def test_topics_that_are_not_wanted_any_more_are_given_back_without_a_new_target() -> None:
    member = Member("m", epoch=2, assigned={A: {0: 1}, B: {0: 2}})
    after = reconcile(member, step({A: {0}, B: {0}}, changed=True, subscribed=(A,)))
    assert (after.epoch, after.state) == (2, MemberState.UNREVOKED_PARTITIONS)
    assert (after.assigned, after.pending_revocation) == ({A: {0: 1}}, {B: {0: 2}})
    released = reconcile(member, step({A: {0}, B: {0}}, changed=True, subscribed=(A,), owned={A: [0]}))
    assert (released.state, released.assigned, released.pending_revocation) == (MemberState.STABLE, {A: {0: 1}}, {})


def test_a_state_that_a_later_kafka_wrote_needs_a_member_without_partitions() -> None:
    member = Member("m", epoch=1, state=MemberState.UNKNOWN, assigned={A: {0: 1}})
    for owned in (None, {A: [0]}):
        with pytest.raises(KafkaError) as caught:
            reconcile(member, step({A: {0}}, owned=owned))
        assert caught.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert reconcile(member, step({A: {0}}, owned={})).is_reconciled_to(2)


# -- against Kafka ----------------------------------------------------------------------------------------------------


def random_partitions(chance: random.Random) -> dict[bytes, set[int]]:
    found = {
        topic_id(number): {partition for partition in range(4) if chance.random() < 0.5}
        for number in range(1, 5)
        if chance.random() < 0.6
    }
    return {topic: partitions for topic, partitions in found.items() if partitions}


def random_step(chance: random.Random) -> tuple[Member, Step, set[tuple[bytes, int]]]:
    epoch = chance.randint(1, 3)
    assigned: dict[bytes, dict[int, int]] = {}
    pending: dict[bytes, dict[int, int]] = {}
    state = chance.choice(list(MemberState))
    for topic, partitions in random_partitions(chance).items():
        for partition in partitions:
            gives_back = state is MemberState.UNREVOKED_PARTITIONS and chance.random() < 0.4
            (pending if gives_back else assigned).setdefault(topic, {})[partition] = chance.randint(0, epoch)
    own = {(topic, partition) for held in (assigned, pending) for topic in held for partition in held[topic]}
    held = own | {
        (topic, partition)
        for topic, partitions in random_partitions(chance).items()
        for partition in partitions
        if chance.random() < 0.4
    }
    owned: dict[bytes, list[int]] | None = {}
    for topic, partition in sorted(own):
        if chance.random() < 0.5:
            owned.setdefault(topic, []).append(partition)
    if chance.random() < 0.3:
        owned = None
    member = Member(
        "member", epoch=epoch, previous_epoch=epoch - 1, state=state, assigned=assigned, pending_revocation=pending
    )
    target = {topic: frozenset(partitions) for topic, partitions in random_partitions(chance).items()}
    subscribed = frozenset(topic_id(number) for number in range(1, 5) if chance.random() < 0.8)
    next_step = Step(
        target_epoch=epoch + chance.randint(0, 2),
        target=target,
        subscribed_topics=subscribed,
        subscription_changed=chance.random() < 0.4,
        owned=owned,
        is_held=lambda topic, partition: (topic, partition) in held,
    )
    return member, next_step, held


def with_epochs(held: EpochedPartitions) -> dict[str, dict[str, int]]:
    return {
        uuid_text(topic): {str(partition): epoch for partition, epoch in sorted(partitions.items())}
        for topic, partitions in held.items()
    }


def member_shown(member: Member) -> dict[str, Any]:
    return {
        "epoch": member.epoch,
        "previous_epoch": member.previous_epoch,
        "state": int(member.state),
        "assigned": with_epochs(member.assigned),
        "pending_revocation": with_epochs(member.pending_revocation),
    }


@pytest.mark.jvm
def test_kafka_takes_the_same_step() -> None:
    topics = {f"t{number}": {"id": uuid_text(topic_id(number)), "racks": [[]] * 4} for number in range(1, 5)}
    with kafka_groups.running() as kafka:
        for seed in range(STEPS):
            member, next_step, held = random_step(random.Random(seed))
            theirs = kafka.ask(
                "reconcile",
                topics=topics,
                member=member_shown(member),
                subscribed=[f"t{int.from_bytes(topic)}" for topic in sorted(next_step.subscribed_topics)],
                target_epoch=next_step.target_epoch,
                target=shown(next_step.target),
                subscription_changed=next_step.subscription_changed,
                owned=None if next_step.owned is None else shown(next_step.owned),
                held=[f"{uuid_text(topic)}-{partition}" for topic, partition in sorted(held)],
            )
            try:
                ours = member_shown(reconcile(member, next_step))
            except KafkaError as error:
                ours = {"error": "FencedMemberEpochException" if error.code is ErrorCode.FENCED_MEMBER_EPOCH else error}
                theirs.pop("message", None)
            assert ours == theirs, f"seed {seed}: {member} {next_step}"
