"""ElectLeaders (KIP-460), and the elections that nobody has to ask for.

Preferred: the first replica takes over if it is in sync. Unclean: for partitions without a leader, whoever is there.
The periodic ones do the same, a bounded number at a time: back to the preferred leader, and unclean where a topic
allows it.
"""

from __future__ import annotations

from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.partition_change import Election
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.image import NO_LEADER
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.partition_admin import ElectLeadersRequest, ElectLeadersResponse

# How many partitions one periodic pass may move.
ELECTIONS_PER_PASS_MAX = 1_000

PREFERRED, UNCLEAN = 0, 1
_ELECTIONS = {PREFERRED: Election.PREFERRED, UNCLEAN: Election.UNCLEAN}

PartitionResult = ElectLeadersResponse.PartitionResult


def elect_leaders(state: ControllerState, request: ElectLeadersRequest) -> Result[ElectLeadersResponse]:
    """Without a list of partitions, all of them; then those that need no election are not mentioned."""
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"there is no election type {request.election_type}")
    draft = Draft(state, bounded_for="ElectLeaders")
    asked = request.topic_partitions
    if asked is None:
        wanted = [(topic.name, list(topic.partitions)) for topic in state.image.topics.by_name.values()]
    else:
        wanted = [(topic.topic, topic.partitions) for topic in asked]
    results = []
    for name, partition_ids in wanted:
        outcomes = [(id, _elect(draft, name, id, election)) for id in partition_ids]
        mentioned = [
            PartitionResult(partition_id=id, error_code=code, error_message=message)
            for id, (code, message) in outcomes
            if asked is not None or code != ErrorCode.ELECTION_NOT_NEEDED
        ]
        results.append(ElectLeadersResponse.ReplicaElectionResult(topic=name, partition_result=mentioned))
    return Result(ElectLeadersResponse(replica_election_results=results), draft.records, atomic=False)


def _elect(draft: Draft, topic_name: str, partition_id: int, election: Election) -> tuple[ErrorCode, str | None]:
    topic = draft.state.image.topics.by_name.get(topic_name)
    partition = None if topic is None else draft.partition(topic, partition_id)
    if topic is None or partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic_name}-{partition_id}"
    if election is Election.PREFERRED:
        needed, unavailable = not partition.has_preferred_leader, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    else:
        needed, unavailable = partition.leader == NO_LEADER, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    if not needed:
        return ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.ELECTION_NOT_NEEDED.text
    change = draft.change(topic, partition_id)
    change.election = election
    if draft.commit(change) is None:
        return unavailable, unavailable.text
    return ErrorCode.NONE, None


def balance_leaders(state: ControllerState, elections_max: int = ELECTIONS_PER_PASS_MAX) -> Result[bool]:
    """Give partitions back to their preferred leaders. True: there may be more to do at once."""
    draft = Draft(state)
    for topic_id, partition_id in list(state.index.without_preferred_leader):
        if len(draft.records) >= elections_max:
            return Result(True, draft.records, atomic=False)
        change = draft.change(state.image.topics.by_id[topic_id], partition_id)
        change.election = Election.PREFERRED
        draft.commit(change)
    return Result(False, draft.records, atomic=False)


def elect_unclean_leaders(state: ControllerState, elections_max: int = ELECTIONS_PER_PASS_MAX) -> Result[bool]:
    """Leaders for partitions without one, of topics that rather lose records than wait."""
    draft = Draft(state)
    for topic_id, partition_id in state.index.leaderless():
        topic = state.image.topics.by_id[topic_id]
        if len(draft.records) >= elections_max:
            return Result(True, draft.records, atomic=False)
        if draft.allows_unclean_election(topic):
            _elect(draft, topic.name, partition_id, Election.UNCLEAN)
    return Result(False, draft.records, atomic=False)
