"""What a node must not forget between two starts: its epoch, its vote, its leader; and the file that keeps it.

The text of the file `quorum-state` is here, in the JSON that Kafka writes: version 0 while `kraft.version` is 0, with
the ids of the voters; version 1 from `kraft.version` 1 on, with the directory id of the vote. Whoever holds the disk
writes the text to a temporary file, syncs it, renames it, and syncs the directory.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ottla.cluster.voters import KRAFT_VERSION_RECONFIGURABLE, ReplicaKey
from ottla.wire.json_form import from_json, to_json
from ottla.wire.stored.quorum_state import QuorumStateData

FILE_NAME = "quorum-state"

_DATA_VERSION = "data_version"
_NO_ID = -1


class ElectionState(NamedTuple):
    """The leader and the vote of an epoch, as far as this node knows and has cast them."""

    epoch: int = 0
    leader_id: int | None = None
    voted: ReplicaKey | None = None


class QuorumStateError(Exception):
    """The file does not hold a quorum state. The node must not start: it could vote twice."""


def format_quorum_state(state: ElectionState, kraft_version: int, voter_ids: list[int]) -> str:
    """The one line of the file."""
    reconfigurable = kraft_version >= KRAFT_VERSION_RECONFIGURABLE
    data = QuorumStateData(
        leader_id=_NO_ID if state.leader_id is None else state.leader_id,
        leader_epoch=state.epoch,
        voted_id=_NO_ID if state.voted is None else state.voted.id,
    )
    if not reconfigurable:
        data.current_voters = [QuorumStateData.Voter(voter_id=voter_id) for voter_id in voter_ids]
    elif state.voted is not None:
        data.voted_directory_id = state.voted.directory_id
    version = 1 if reconfigurable else 0
    return json.dumps({**to_json(data, version), _DATA_VERSION: version}, separators=(",", ":"))


def parse_quorum_state(text: str) -> ElectionState:
    """What the file says; QuorumStateError if it says nothing that can be trusted."""
    try:
        value = json.loads(text)
        version = value[_DATA_VERSION]
        if isinstance(version, bool) or version not in (0, 1):
            raise ValueError(f"{_DATA_VERSION} is {version!r}")
        data = from_json(QuorumStateData, value, version)
        numbers = (data.leader_epoch, data.leader_id, data.voted_id)
        if any(type(number) is not int or number < _NO_ID for number in numbers) or data.leader_epoch < 0:
            raise ValueError(f"epoch, leader and vote are {numbers}")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise QuorumStateError(f"{FILE_NAME} cannot be read: {error!r}") from error
    return ElectionState(
        data.leader_epoch,
        None if data.leader_id == _NO_ID else data.leader_id,
        None if data.voted_id == _NO_ID else ReplicaKey(data.voted_id, data.voted_directory_id),
    )
