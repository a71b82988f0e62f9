"""How far a follower must cut its log to agree with its leader: by epochs, never by the high watermark (KIP-101, 279).

The leader says the largest epoch up to the follower's last that it knows, and where that epoch ended in its log. Where
the follower has no such epoch, it cuts to the end of its own largest one below, and asks again.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

NO_EPOCH = -1


class EpochEnd(NamedTuple):
    """An epoch, and the offset at which it ended in somebody's log."""

    epoch: int
    end_offset: int


class EpochHistory(Protocol):
    """Which epoch wrote what, in one replica's log."""

    def end_of(self, epoch: int) -> EpochEnd:
        """The largest epoch up to this one in the log, and where it ended; NO_EPOCH if there is none."""


def divergence(leader: EpochHistory, fetch_offset: int, last_fetched_epoch: int) -> EpochEnd | None:
    """As the leader: what to tell a follower whose log cannot be continued from here; None: it can."""
    if last_fetched_epoch <= NO_EPOCH:
        return None
    known = leader.end_of(last_fetched_epoch)
    if known.epoch != last_fetched_epoch or known.end_offset < fetch_offset:
        return known
    return None


def truncation_offset(follower: EpochHistory, end_offset: int, leaders: EpochEnd) -> int:
    """As a follower: where to cut a log that ends at `end_offset`, by what the leader said."""
    ours = follower.end_of(leaders.epoch)
    if ours.epoch == NO_EPOCH:
        return min(leaders.end_offset, end_offset)
    if ours.epoch == leaders.epoch:
        return min(ours.end_offset, leaders.end_offset, end_offset)
    return min(ours.end_offset, end_offset)
