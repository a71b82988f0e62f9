"""A follower's end of a fetch session (KIP-227): its leader is told what has changed since the last Fetch, and no more.

Most replicas that follow a leader are idle at any moment, and each would cost its bytes, their making and their reading
in every Fetch. Pure: positions in, what to name out. Where anything goes wrong a new session begins, with everything.
"""

from __future__ import annotations

from collections.abc import Mapping

NO_SESSION, INITIAL_EPOCH = 0, 0
EPOCH_MAX = 2**31 - 1

# Topic id and partition; and all that a Fetch says of one: the leader's epoch, and which records are here.
Key = tuple[bytes, int]
Position = tuple[int, int, int, int]


class FollowerSession:
    def __init__(self) -> None:
        self.id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        self._told: Mapping[Key, Position] = {}

    def begin_anew(self) -> None:
        """Nobody knows what the leader knows: the next request names everything."""
        self.id, self.epoch, self._told = NO_SESSION, INITIAL_EPOCH, {}

    def changed(self, positions: Mapping[Key, Position]) -> tuple[list[Key], list[Key]]:
        """What the next request, which is for these, has to name, and what it has to take back. It counts as sent."""
        told, self._told = self._told, positions
        named = [key for key, position in positions.items() if told.get(key) != position]
        return named, [key for key in told if key not in positions]

    def answered(self, session_id: int) -> None:
        """The leader has answered, and remembers what it was told under this id, or not at all."""
        if session_id == NO_SESSION:
            self.begin_anew()
            return
        self.id = session_id
        self.epoch = 1 if self.epoch == EPOCH_MAX else self.epoch + 1
