"""One shard of the group coordinator and the partition that it lives in: outcomes are done here.

Records are written at once, since the next request builds on them; then they are replayed, and whoever asked is
answered when the high watermark has passed them, or when offsets.commit.timeout.ms are over. A partition that is no
longer led, or whose log has failed, takes its shard along: all who wait are told to look for the coordinator anew.

How a shard is loaded and when its time comes is known in `coordinating`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ottla.coordinators.contract import Outcome, Record
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import encode
from ottla.coordinators.write_errors import as_coordinator_error
from ottla.server.partition import Partition
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.compression import Codec
from ottla.wire.encoder import EncodeError
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import HEADER_BYTES, plain_batch

# Around a key and a value: lengths, offset and time, all of them varints.
RECORD_OVERHEAD_BYTES_MAX = 32

Tell = Callable[[Any], None]
Call = Callable[[GroupShard, Any, int], "Outcome[Any]"]


class Asked:
    """A request that is told its response, or the KafkaError, once. It is the token that the shard gets."""

    __slots__ = ("_open", "_tell")

    def __init__(self, tell: Tell, still_open: dict[Asked, None]) -> None:
        self._tell = tell
        self._open = still_open
        still_open[self] = None

    def answer(self, reply: Any) -> None:
        if self in self._open:
            del self._open[self]
            self._tell(reply)


class _Waiting(NamedTuple):
    end_offset: int
    deadline_ms: int
    outcome: Outcome[Any]
    asked: Asked | None


class LedShard:
    """`shard` takes no requests before `is_loaded`. `gone` is what happens when the partition is not led any more."""

    def __init__(
        self,
        partition: Partition,
        shard: GroupShard,
        now_ms: Callable[[], int],
        *,
        codec: Codec,
        commit_timeout_ms: int,
        flush_soon: Callable[[Partition], None],
        when_gone: Callable[[LedShard], None],
    ) -> None:
        self.partition = partition
        self.shard = shard
        self.is_loaded = False
        self.is_gone = False
        self._now_ms = now_ms
        self._codec = codec
        self._commit_timeout_ms = commit_timeout_ms
        self._flush_soon = flush_soon
        self._when_gone = when_gone
        self._open: dict[Asked, None] = {}
        self._waiting: deque[_Waiting] = deque()
        self._is_writing = False
        partition.watch(self)

    def ask(self, call: Call, tell: Tell) -> None:
        """Tell what comes of it: at once, if nothing has to be waited for."""
        if self.is_gone:
            tell(_not_here(self.partition))
            return
        asked = Asked(tell, self._open)
        try:
            outcome = call(self.shard, asked, self._now_ms())
        except KafkaError as error:
            self._answer_when_committed(asked, error.kept())
            return
        except BaseException:
            self._open.pop(asked, None)  # our own mistake: whoever dispatched the request says so
            raise
        self.do(outcome, asked)

    def _answer_when_committed(self, asked: Asked, error: KafkaError) -> None:
        """A refusal, too, may come from records that are not committed yet."""
        self.do(Outcome(response=error), asked)

    def do(self, outcome: Outcome[Any], asked: Asked | None = None) -> None:
        if outcome.records:
            try:
                self._write(outcome)
            except KafkaError as error:
                self._fail(outcome, asked, as_coordinator_error(error.kept()))
                return
            except EncodeError as error:
                # What is not UTF-8 grows when it is read, and a name may become too long to be stored.
                self._fail(outcome, asked, KafkaError(ErrorCode.INVALID_REQUEST, f"it cannot be stored: {error}"))
                return
        elif not self._waiting and outcome.then is None and self._is_all_committed:
            self._tell(outcome, asked)
            return
        deadline_ms = self._now_ms() + self._commit_timeout_ms
        self._waiting.append(_Waiting(self.partition.log.end_offset, deadline_ms, outcome, asked))
        self._answer_committed()

    def _write(self, outcome: Outcome[Any]) -> None:
        for records in self._batches(outcome):
            self._is_writing = True
            try:
                first_offset = self._append(records)
            finally:
                self._is_writing = False
            if outcome.is_replayed:
                for number, record in enumerate(records):
                    self.shard.replay(record, first_offset + number)

    def _append(self, records: list[Record]) -> int:
        now_ms = self._now_ms()
        partition = self.partition
        batch = plain_batch(map(encode, records), now_ms, self._codec)
        appended = partition.stage(batch, now_ms, AppendOrigin.COORDINATOR)
        partition.commit()
        if partition.commit_error is not None:
            raise partition.commit_error
        if partition.must_flush_first:
            self._flush_soon(partition)
        return appended.first_offset

    def _batches(self, outcome: Outcome[Any]) -> Iterator[list[Record]]:
        if outcome.is_atomic:
            yield outcome.records
            return
        batch: list[Record] = []
        size_bytes = HEADER_BYTES
        for record in outcome.records:
            record_bytes = RECORD_OVERHEAD_BYTES_MAX + sum(len(part or b"") for part in encode(record))
            if batch and size_bytes + record_bytes > self.partition.log.config.max_message_bytes:
                yield batch
                batch, size_bytes = [], HEADER_BYTES
            batch.append(record)
            size_bytes += record_bytes
        yield batch

    def _fail(self, outcome: Outcome[Any], asked: Asked | None, error: KafkaError) -> None:
        """Nothing was written, or not committed in time: see contract.py for who is told what."""
        is_answered = outcome.response is not None
        for answer in outcome.answers:
            if answer.token is asked:
                is_answered = True
            else:
                answer.token.answer(answer.response)
        if asked is not None and is_answered:
            asked.answer(error)
        if outcome.then is not None and not self.is_gone:
            self.do(outcome.then(error, self._now_ms()))

    def _answer_committed(self) -> None:
        while self._waiting and self._waiting[0].end_offset <= self.partition.log.high_watermark:
            _, _, outcome, asked = self._waiting.popleft()
            self._tell(outcome, asked)
            if outcome.then is not None:
                self.do(outcome.then(None, self._now_ms()))

    @property
    def _is_all_committed(self) -> bool:
        return self.partition.log.end_offset <= self.partition.log.high_watermark

    def _tell(self, outcome: Outcome[Any], asked: Asked | None) -> None:
        for answer in outcome.answers:
            answer.token.answer(answer.response)
        if asked is not None and outcome.response is not None:
            asked.answer(outcome.response)

    # Time

    def next_deadline(self) -> int | None:
        """When there is something to do, in the shard or here; None if nothing is foreseen."""
        deadline_ms = self.shard.next_deadline()
        if not self._waiting:
            return deadline_ms
        waiting_ms = self._waiting[0].deadline_ms
        return waiting_ms if deadline_ms is None else min(deadline_ms, waiting_ms)

    def give_up(self, now_ms: int) -> None:
        """Tell those who have waited too long. What they wrote stays: it may be committed yet."""
        while self._waiting and self._waiting[0].deadline_ms <= now_ms:
            _, _, outcome, asked = self._waiting.popleft()
            # Whoever only reads is sent to look for the coordinator, as Kafka does: older consumers know no better.
            code = ErrorCode.REQUEST_TIMED_OUT if outcome.records else ErrorCode.NOT_COORDINATOR
            self._fail(outcome, asked, as_coordinator_error(KafkaError(code, f"{self.partition} is not committed")))

    # Watching the partition

    def moved(self, partition: Partition, added_bytes: int) -> bool:
        """The high watermark has moved. While records are being written their state is not there yet."""
        if not self._is_writing:
            self._answer_committed()
        return False

    def gone(self) -> None:
        self.leave(_not_here(self.partition))

    def leave(self, error: KafkaError) -> None:
        """The shard is of no use any more: whoever waits is told."""
        if self.is_gone:
            return
        self.is_gone = True
        self._waiting.clear()
        for asked in list(self._open):
            asked.answer(error)
        self._when_gone(self)


def _not_here(partition: Partition) -> KafkaError:
    return KafkaError(ErrorCode.NOT_COORDINATOR, f"{partition} is not led here")
