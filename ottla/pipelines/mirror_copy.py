"""One task of a mirror, on an executor: some records of one partition, from the source's log to the target's end.

Where it begins, it reads from the target (appender.py); what the driver believes does not matter. What goes wrong is
sent home as a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ottla.client.blocking import Client
from ottla.client.offsets import LATEST, IsolationLevel
from ottla.pipelines import PipelineFailed
from ottla.pipelines.appender import Appender, batches
from ottla.pipelines.copying import Writing, executor_client
from ottla.pipelines.mirror_groups import first_record
from ottla.pipelines.mirror_plan import Copied, Copy
from ottla.pipelines.target_tail import NOTHING
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Record

FETCH_BYTES = 4 * 1024 * 1024


def copy(task: Copy, source: str, writing: Writing) -> Copied:
    """`source` is where the source's brokers are."""
    try:
        with (
            executor_client(source, writing.timeout_ms) as reading,
            executor_client(writing.bootstrap, writing.timeout_ms) as target,
        ):
            return Copying(task, reading, Appender(target, task.place, task.origin, codec=writing.codec)).run()
    except PipelineFailed as error:
        return Copied(task.source_place, NOTHING, NOTHING, 0, failure=str(error))


class Copying:
    def __init__(self, task: Copy, source: Client, appender: Appender) -> None:
        self.task = task
        self.source = source
        self.appender = appender
        self.read_count = 0

    def run(self) -> Copied:
        task = self.task
        start_offset = self.start_offset()
        # What was deleted before it could be copied. A copy that is only begun misses nothing.
        is_begun = self.appender.after != NOTHING
        skipped_count = max(0, task.start_offset - self.appender.after - 1) if is_begun else 0
        is_whole = True
        if start_offset < task.end_offset:
            for run in batches(self._read(start_offset), task.batch_bytes):
                self.appender.append(run)
            is_whole = self.read_count < task.record_count_max
        next_offset = max(task.end_offset, self.appender.after + 1) if is_whole else self.appender.after + 1
        return Copied(
            task.source_place,
            next_offset,
            self.appender.tail.end_offset,
            self.appender.written_count,
            skipped_count,
        )

    def start_offset(self) -> int:
        """The first offset of the source that may be missing in the target."""
        task, tail = self.task, self.appender.tail
        if tail.source_offset == NOTHING and tail.end_offset > 0:
            if task.resume_offset is None:
                raise PipelineFailed(
                    f"{task.place} held records that were deleted, so nothing says where to go on; delete the topic to "
                    "copy it again"
                )
            return max(task.start_offset, task.resume_offset)
        self._check_is_the_same(tail.source_offset)
        return max(task.start_offset, tail.source_offset + 1)

    def _check_is_the_same(self, copied_offset: int) -> None:
        """A source that ends before what was copied from it, or has something else there, is another than it was."""
        task, place = self.task, self.task.source_place
        if copied_offset >= task.end_offset:
            end_offset = self.source.list_offsets({place: LATEST})[place].offset
            if copied_offset >= end_offset:
                raise self._made_anew(f"which ends at {end_offset}")
        if task.is_first and task.start_offset <= copied_offset < task.end_offset and self._is_another(copied_offset):
            raise self._made_anew("which has another record there")

    def _is_another(self, copied_offset: int) -> bool:
        """Whether the source has something else at an offset than was copied from there; what is gone tells nothing."""
        try:
            found = self.source.call(first_record, self.task.source_place, copied_offset, copied_offset + 1)
        except KafkaError as error:
            if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            return False
        copied = self.appender.tail.record
        # Its time may be the target's own.
        return found is not None and copied is not None and (found.key, found.value) != (copied.key, copied.value)

    def _made_anew(self, how: str) -> PipelineFailed:
        return PipelineFailed(
            f"{self.task.place} holds offset {self.appender.after} of {self.task.origin}, {how}: it was made anew; "
            "delete the target's topic, or choose another with --rename"
        )

    def _read(self, start_offset: int) -> Iterator[Record]:
        records = self.source.consume(
            *self.task.source_place,
            start_offset,
            end_offset=self.task.end_offset,
            isolation=IsolationLevel.READ_COMMITTED,
            bytes_max=FETCH_BYTES,
        )
        try:
            for record in islice(records, self.task.record_count_max):
                self.read_count += 1
                yield record
        except KafkaError as error:
            if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:
                raise
            # Retention was faster. The next round begins where the log begins then, and says what was missed.
            self.read_count = self.task.record_count_max
