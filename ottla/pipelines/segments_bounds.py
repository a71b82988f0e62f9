"""Which offsets of which partitions are to be read: the options, and what the files say, come together here.

A batch asks once; a stream asks again and again, and its positions are offsets by topic and partition. What was there
and is gone is data loss: an error, unless the user has said to go on with what is left. Positions in files are not
known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_files import PartitionLog, find_partitions
from ottla.pipelines.segments_filters import Narrowing
from ottla.pipelines.segments_options import EARLIEST, LATEST, SegmentsOptions, TopicPartition
from ottla.pipelines.segments_plan import first_offset_at, log_end, log_start
from ottla.pipelines.segments_transactions import last_stable_offset

REMEDY = "failOnDataLoss=false reads what is left"


class Bounds(NamedTuple):
    """Of one partition: offsets from `start` up to, not including, `end`."""

    log: PartitionLog
    start: int
    end: int


def batch_bounds(options: SegmentsOptions, narrowing: Narrowing) -> list[Bounds]:
    """What a batch reads, partitions without anything left out."""
    found = []
    for log in wanted_partitions(options).values():
        if not narrowing.wants(log.topic, log.partition):
            continue
        readable_end = readable_to(log, options)
        start = max(start_of(log, options, readable_end), narrowing.start_offset)
        end = min(_end_of(log, options, readable_end), narrowing.end_offset)
        if narrowing.start_timestamp is not None:
            start = max(start, first_offset_at(log, narrowing.start_timestamp, readable_end))
        if start < end:
            found.append(Bounds(log, start, end))
    return found


def wanted_partitions(options: SegmentsOptions) -> dict[TopicPartition, PartitionLog]:
    """The partitions that are there. Named ones that are not are an error: nobody names what is not to be read."""
    found = find_partitions(options)
    topics = {topic for topic, _ in found}
    missing = sorted(options.topics - topics) if options.topics is not None else []
    if options.assigned is not None:
        missing = [f"{topic}-{partition}" for topic, partition in sorted(options.assigned - found.keys())]
    if missing and options.fails_on_data_loss:
        raise PipelineFailed(f"{', '.join(missing)} is not in {', '.join(options.paths)}")
    return found


def readable_to(log: PartitionLog, options: SegmentsOptions) -> int:
    """The end of the log, or less: of what is replicated, of what is decided."""
    try:
        end = log_end(log)
        if options.is_up_to_high_watermark:
            end = min(end, log.high_watermark or 0)
        return last_stable_offset(log, end) if options.is_committed_only else end
    except FileNotFoundError as error:
        raise PipelineFailed(f"{error.filename} went away while it was looked at; read again") from None


def start_of(log: PartitionLog, options: SegmentsOptions, readable_end: int) -> int:
    """Where the options say to begin, within what is there."""
    if options.starting_timestamp is not None:
        return first_offset_at(log, options.starting_timestamp, readable_end)
    start = log_start(log)
    wanted = options.starting.of(log.topic, log.partition)
    if wanted == EARLIEST:
        return start
    if wanted == LATEST:
        return readable_end
    if (log.topic, log.partition) in options.starting.named:
        check_not_lost(log.name, wanted, start, readable_end, options)
    return max(start, wanted)


def _end_of(log: PartitionLog, options: SegmentsOptions, readable_end: int) -> int:
    if options.ending_timestamp is not None:
        return first_offset_at(log, options.ending_timestamp, readable_end)
    wanted = options.ending.of(log.topic, log.partition)
    if wanted == EARLIEST:
        return log_start(log)
    return readable_end if wanted == LATEST else min(wanted, readable_end)


def check_not_lost(name: str, wanted: int, start: int, end: int, options: SegmentsOptions) -> None:
    """An offset that somebody remembers must still be one of the log's."""
    if options.fails_on_data_loss and wanted < start:
        raise PipelineFailed(f"offsets {wanted} to {start - 1} of {name} are gone: the log begins at {start}. {REMEDY}")
    if options.fails_on_data_loss and wanted > end:
        raise PipelineFailed(f"offset {wanted} of {name} is gone: the log ends at {end}. {REMEDY}")


# Streams


def initial_position(options: SegmentsOptions) -> dict[TopicPartition, int]:
    """Where a stream without a checkpoint begins."""
    return {key: start_of(log, options, readable_to(log, options)) for key, log in wanted_partitions(options).items()}


def latest_position(options: SegmentsOptions) -> dict[TopicPartition, int]:
    """How far a stream may read now."""
    return {key: readable_to(log, options) for key, log in wanted_partitions(options).items()}


def stream_bounds(
    options: SegmentsOptions, start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]
) -> list[Bounds]:
    """What lies between two positions. A partition that is new is read from its beginning."""
    logs = wanted_partitions(options)
    found = []
    for key in sorted(start.keys() | end.keys()):
        log = logs.get(key)
        if log is None or key not in end:
            if options.fails_on_data_loss:
                raise PipelineFailed(f"{key[0]}-{key[1]} is gone: the stream has read up to {start.get(key)}. {REMEDY}")
            continue
        begin = log_start(log)
        if key in start:
            check_not_lost(log.name, start[key], begin, end[key], options)
            begin = max(begin, start[key])
        if begin < end[key]:
            found.append(Bounds(log, begin, end[key]))
    return found
