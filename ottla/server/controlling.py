"""Drives the controller on the node that leads the quorum: requests in, records out, answers when they are committed.

State may run ahead of the high watermark, answers may not: a change is replayed into the controller's own state as soon
as it is appended, and whoever asked is answered when the quorum has it. On losing the leadership the state is dropped,
and whoever still waits is told to look for the new leader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ottla.cluster.bootstrap import activation_records
from ottla.cluster.controller import ControllerSettings, ControllerState, Result
from ottla.cluster.image.loader import Change
from ottla.cluster.metadata_log import metadata_batch
from ottla.server.quorum import Quorum
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.schema import StoredRecord

Call = Callable[[ControllerState, int], "Result[Any]"]
Done = Callable[[Any, "KafkaError | None"], None]

RECORDS_PER_BATCH = 10_000


class Controller:
    """Follows the quorum; `state` is there while this node is the active controller."""

    def __init__(
        self,
        quorum: Quorum,
        settings: ControllerSettings,
        bootstrap: Sequence[StoredRecord],
        now_ms: Callable[[], int],
    ) -> None:
        self.state: ControllerState | None = None
        self._quorum = quorum
        self._settings = settings
        self._bootstrap = bootstrap
        self._now_ms = now_ms
        self._epoch = -1
        # (end offset, what to tell, the answer), in the order of offsets.
        self._waiting: deque[tuple[int, Done, Any]] = deque()

    def change(self, call: Call, done: Done) -> None:
        """Run a function of the controller now; `done` gets its answer once the records are committed."""
        if self.state is None:
            done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller"))
            return
        try:
            result = call(self.state, self._now_ms())
            self._write(result.records, is_atomic=result.atomic)
        except KafkaError as error:
            done(None, _as_the_client_knows_it(error))
            return
        self._waiting.append((self._quorum.end().offset, done, result.response))
        self.reached(self._quorum.applied_offset)

    @property
    def next_offset(self) -> int:
        return self._quorum.end().offset

    def _write(self, records: list[StoredRecord], *, is_atomic: bool) -> None:
        assert self.state is not None
        size = len(records) if is_atomic else RECORDS_PER_BATCH
        for first in range(0, len(records), max(size, 1)):
            part = records[first : first + size]
            base_offset, now_ms = self._quorum.end().offset, self._now_ms()
            batch = metadata_batch(
                part,
                base_offset=base_offset,
                leader_epoch=self._epoch,
                timestamp=now_ms,
                metadata_version=self.state.image.metadata_version or self._bootstrap_version,
            )
            state = self.state
            self._quorum.propose(batch, len(part), self._epoch)
            if state is self.state:
                state.replay(part, base_offset=base_offset, epoch=self._epoch, now_ms=now_ms)

    @property
    def _bootstrap_version(self) -> int:
        levels = {getattr(one, "name", ""): getattr(one, "feature_level", 0) for one in self._bootstrap}
        return levels["metadata.version"]

    # What the quorum tells

    def committed(self, change: Change) -> None:
        """The controller's own state knew before anybody else."""

    def activated(self, epoch: int) -> None:
        now_ms = self._now_ms()
        image = self._quorum.image
        self._epoch = epoch
        raft = self._quorum.raft
        settings = replace(self._settings, quorum_node_ids=tuple(raft.voters.ids))
        self.state = ControllerState(settings, image, now_ms=now_ms, kraft_version=raft.kraft_version)
        records = activation_records(
            self._bootstrap,
            metadata_version=image.metadata_version,
            in_transaction=self._quorum.is_in_transaction,
            min_insync_replicas=self._settings.min_insync_replicas,
        )
        try:
            self._write(records, is_atomic=True)
        except KafkaError as error:
            if error.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise
            self.state = None  # lost already, by the same event: that is the next thing to be told

    def deactivated(self) -> None:
        self.state = None
        waiting, self._waiting = self._waiting, deque()
        for _, done, _ in waiting:
            done(None, KafkaError(ErrorCode.NOT_CONTROLLER, "the controller has moved"))

    def reached(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            _, done, response = self._waiting.popleft()
            done(response, None)


def _as_the_client_knows_it(error: KafkaError) -> KafkaError:
    """Who leads the quorum is the controller: one word for both, lest somebody looks for the leader of a partition."""
    if error.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return error
    return KafkaError(ErrorCode.NOT_CONTROLLER, error.message)
