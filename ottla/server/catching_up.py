"""When a node that starts knows enough of the cluster to take part in it.

The active controller knows as soon as the cluster has its features. Any other node has first to read what was committed
when it found the leader: before that it would take its own replicas for strays. It may have read all of that before it
stopped; then there is no news to wait for, but the leader's first answer.
"""

from __future__ import annotations

import trio

from ottla.cluster.image import Change
from ottla.server.quorum import Quorum


class CatchingUp:
    """Follows the quorum; `event` is set when the image can be trusted."""

    def __init__(self, quorum: Quorum) -> None:
        self.event = trio.Event()
        self._quorum = quorum
        self._is_active = False

    async def wait(self) -> None:
        while not self.event.is_set():
            await self._quorum.changed()
            self._look()

    def committed(self, change: Change) -> None: ...

    def activated(self, epoch: int) -> None:
        self._is_active = True
        self._look()

    def deactivated(self) -> None:
        self._is_active = False

    def reached(self, offset: int) -> None:
        self._look()

    def _look(self) -> None:
        committed_offset = self._quorum.raft.leaders_high_watermark
        has_read_all = committed_offset is not None and self._quorum.applied_offset >= committed_offset
        if (self._is_active or has_read_all) and self._quorum.image.metadata_version:
            self.event.set()
