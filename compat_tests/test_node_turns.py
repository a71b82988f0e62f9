"""Apache Kafka and Ottla take turns on a directory that is in use, and clients do not notice which of them serves.

Beginning with either, stopped cleanly or killed. Who does what in a turn is in turn_story.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from compat_tests.node_state import BROKER, TOPIC
from compat_tests.node_turns import KAFKA, OTTLA
from compat_tests.test_node_swap import assert_same
from compat_tests.turn_story import (
    COMPACTED,
    GROWN,
    PER_TURN,
    READ,
    SEQUENCED,
    STREAMED,
    TRIMMED,
    Look,
    Story,
    tell,
    values,
)
from ottla.wire.errors import ErrorCode

pytestmark = pytest.mark.jvm

BEGINS = {KAFKA: (KAFKA, OTTLA, KAFKA), OTTLA: (OTTLA, KAFKA, OTTLA)}


@pytest.fixture(scope="module", params=["clean", "killed"])
def is_clean(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "clean")


@pytest.fixture(scope="module", params=BEGINS, ids=lambda name: f"{name} first")
def story(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, *, is_clean: bool) -> Story:
    is_static = is_clean == (request.param == KAFKA)
    return tell(tmp_path_factory.mktemp("turns"), BEGINS[request.param], is_clean=is_clean, is_static=is_static)


def handovers(story: Story) -> Iterator[tuple[Look, Look]]:
    """What one broker left and what the next one found."""
    for before, after in pairwise(story.turns):
        assert before.left is not None
        yield before.left, after.found


def last(story: Story) -> Look:
    left = story.turns[-1].left
    assert left is not None
    return left


# What changes by itself: members that stay make themselves heard, and the cleaner cleans.
RESTLESS = (STREAMED, COMPACTED)


def without_restless(look: Look) -> Look:
    def is_calm(name: str) -> bool:
        return not name.startswith("__") and name not in RESTLESS

    state = look.state._replace(
        partitions={place: found for place, found in look.state.partitions.items() if is_calm(place[0])}
    )
    producers = {place: found for place, found in look.producers.items() if is_calm(place[0])}
    return look._replace(state=state, producers=producers)


def test_topics_records_and_configurations_are_found_as_they_were_left(story: Story, *, is_clean: bool) -> None:
    for left, found in handovers(story):
        before, now = without_restless(left).state, without_restless(found).state
        if not is_clean:
            # Where a log starts is written down once a minute: of what was deleted since, some is back.
            assert now.partitions.pop((TRIMMED, 0)).earliest <= before.partitions.pop((TRIMMED, 0)).earliest
        assert_same(now, before)


def test_groups_are_found_with_their_offsets(story: Story) -> None:
    for left, found in handovers(story):
        assert found.groups == left.groups
    groups = last(story).groups
    assert {name: group.type for name, group in groups.items()} == {
        "lasting-classic": "classic",
        "lasting-consumer": "consumer",
        "resting-classic": "classic",
        "resting-consumer": "consumer",
        "resting-python": "classic",
    }
    for name, group in groups.items():
        assert group.commits[READ, 0].offset == PER_TURN * len(story.turns), name


def test_producers_are_found_in_the_middle_of_their_sequences(story: Story) -> None:
    for left, found in handovers(story):
        assert without_restless(found).producers == without_restless(left).producers
    assert last(story).producers[SEQUENCED, 0]


def test_what_an_idempotent_producer_sends_again_is_known(story: Story) -> None:
    for turn in story.turns[1:]:
        assert turn.is_known_again, turn.broker
        assert turn.too_early is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert last(story).state.partitions[SEQUENCED, 0].latest[0] == 3 * 3 * len(story.turns)


def test_a_producer_that_was_there_all_the_time_lost_nothing_and_repeated_nothing(story: Story) -> None:
    count = PER_TURN * (2 * len(story.turns) - 1)
    assert story.streamed == [b"%d" % number for number in range(count)]


def test_members_that_were_there_all_the_time_read_everything_once(story: Story) -> None:
    for group, read in story.lasting.items():
        assert read == [one for number in range(len(story.turns)) for one in values(number)], group
    assert set(story.assignments.values()) == {1}, "no broker made them rebalance"


def test_members_that_come_go_on_where_the_last_one_committed(story: Story) -> None:
    for number, turn in enumerate(story.turns):
        for protocol, read in turn.read.items():
            assert read == values(number), (turn.broker, protocol)


def test_the_newest_value_of_a_key_survives_every_cleaner(story: Story) -> None:
    assert story.compacted == story.latest


def test_transactions_of_kafkas_are_as_they_were(story: Story) -> None:
    numbers = [number for number, turn in enumerate(story.turns) if turn.broker == KAFKA]
    assert story.committed_values == [b"committed in turn %d" % number for number in numbers]


def test_what_was_done_is_there(story: Story) -> None:
    """Or the comparisons would say little."""
    state, turn_count = last(story).state, len(story.turns)
    assert set(state.topics) & {"made-0", "made-1", "made-2"} == {"made-2"}
    assert len(state.topics[GROWN].partitions) == turn_count + 1
    assert state.partitions[TRIMMED, 0].earliest[0] == (turn_count - 1) * PER_TURN + 3
    assert state.configs[TOPIC, READ]["retention.ms"] == "2000000002"
    assert state.configs[BROKER, ""]["log.cleaner.backoff.ms"] == "102"
    assert state.configs[BROKER, "1"]["log.flush.interval.messages"] == "9000002"


def test_a_broker_that_stopped_cleanly_keeps_nobody_waiting(story: Story, *, is_clean: bool) -> None:
    """It has let the cluster know that it is gone. Kafka waits for the session of one that has not."""
    if is_clean:
        for turn in story.turns[1:]:
            assert not [line for line in turn.printed if "DUPLICATE_BROKER_REGISTRATION" in line], turn.broker


def test_ottla_names_the_features_that_it_keeps_without_serving_them(story: Story) -> None:
    turn = story.turns[1]
    if turn.broker == OTTLA:
        assert any("transaction.version is at level 2" in line for line in turn.printed)
        assert any("share.version is at level 1" in line for line in turn.printed)
