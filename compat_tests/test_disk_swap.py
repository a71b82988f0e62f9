"""Apache Kafka 4.3 serves logs that Ottla wrote, Ottla serves logs that Kafka wrote, and both answer alike.

How the directories change hands is in disk_swap.py. Here every answer is compared: bytes, records as two clients see
them, offsets by time, the last stable offset and aborted transactions, producers, leader epochs, and the indexes that
Kafka builds from a log of Ottla's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from compat_tests import kafka_topics, ottla_logs
from compat_tests.answers import Answers, Piece, Producer, ask_ottla, asked_timestamps, consumed, records_from
from compat_tests.disk_swap import BOTH, LeftByKafka, Seen, exchange
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_reading import offset_by_timestamp
from ottla.wire.records import iter_batches

pytestmark = pytest.mark.jvm

CLIENTS = ("kafka-python", "confluent")
THEIRS = LogConfig(segment_bytes=kafka_topics.SEGMENT_BYTES, index_interval_bytes=1024)
CONFIGS = {topic: replace(THEIRS, compact=topic in kafka_topics.COMPACTED) for topic in kafka_topics.NAMES}
COMPARED = (
    "start_offset",
    "end_offset",
    "last_stable_offset",
    "batches",
    "of_max_timestamp",
    "producers",
)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return exchange(tmp_path_factory.mktemp("exchange"))


def assert_alike(log: Log, theirs: Answers, *, is_recovered: bool = False) -> None:
    """Ask our log what Kafka was asked, and compare. `is_recovered` says that one of the two built its indexes anew."""
    ours = ask_ottla(log, theirs.by_timestamp)
    for name in COMPARED:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert_same_times(log, ours, theirs)
    assert_same_bytes(ours.pieces, theirs.pieces)
    assert_same_bytes(ours.committed_pieces, theirs.committed_pieces)
    assert consumed(ours, is_committed=True) == consumed(theirs, is_committed=True)
    if not (is_recovered and log.config.compact):
        # Anew, the index lacks those aborted transactions whose records the cleaner has removed.
        assert_same_aborted(ours, theirs)
    # Kafka may have begun another epoch since.
    for epoch in range(log.epochs.latest_epoch + 1):
        assert ours.epoch_ends[epoch] == theirs.epoch_ends[epoch], epoch


def assert_same_aborted(ours: Answers, theirs: Answers) -> None:
    assert ours.aborted == theirs.aborted
    # Kafka may name one too many in a single answer, since it looks an index interval ahead.
    for one, other in zip(ours.committed_pieces, theirs.committed_pieces, strict=True):
        assert one.aborted <= other.aborted


def assert_same_times(log: Log, ours: Answers, theirs: Answers) -> None:
    """The same offset for every time, but where Kafka overlooks what is behind a segment that the cleaner emptied.

    Kafka looks in one segment only: the first that has the time, by its batches or, without any, by its file. Where no
    record is left that has it, Kafka says there is none at all.
    """
    for timestamp, found in theirs.by_timestamp.items():
        if found is None and is_emptied(log):
            continue
        assert ours.by_timestamp[timestamp] == found, timestamp


def is_emptied(log: Log) -> bool:
    """Whether the cleaner has left a segment without a batch, or a batch without a record."""
    *finished, _ = log.segments
    batches = [batch for segment in finished for batch in iter_batches(segment.file.read_at(0, segment.size_bytes))]
    return any(segment.size_bytes == 0 for segment in finished) or any(batch.count == 0 for batch in batches)


def assert_same_bytes(ours: list[Piece], theirs: list[Piece]) -> None:
    assert [(piece.offset, len(piece.data)) for piece in ours] == [(piece.offset, len(piece.data)) for piece in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.data == other.data


# Kafka's logs in Ottla's hands


@pytest.mark.parametrize("topic", kafka_topics.NAMES)
@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_ottla_answers_for_a_log_of_kafkas_as_kafka_did(seen: Seen, end: str, topic: str) -> None:
    left = left_by_kafka(seen, end)
    theirs = left.answers[topic]
    log = left.open(topic, CONFIGS[topic])
    assert_alike(log, theirs, is_recovered=not left.was_clean)
    log.close()


def left_by_kafka(seen: Seen, end: str) -> LeftByKafka:
    left: LeftByKafka | None = getattr(seen, end)
    assert left is not None
    return left


@pytest.mark.parametrize("topic", kafka_topics.NAMES)
def test_all_bytes_of_kafkas_files_are_served(seen: Seen, topic: str) -> None:
    left = left_by_kafka(seen, "stopped")
    log = left.open(topic, CONFIGS[topic])
    served = ask_ottla(log, ()).data
    log.close()
    files = b"".join(path.read_bytes() for path in sorted((left.log_dir / f"{topic}-0").glob("*.log")))
    # What was deleted up to the middle of a segment is still in the file.
    assert files.endswith(served)
    assert len(served) == len(files) or topic == "kafka-deleted"


@pytest.mark.parametrize("is_committed", BOTH, ids=["uncommitted", "committed"])
@pytest.mark.parametrize("client", CLIENTS)
def test_what_ottla_serves_is_what_clients_read_from_kafka(seen: Seen, client: str, is_committed: bool) -> None:
    left = left_by_kafka(seen, "stopped")
    for topic, records in seen.readings[client, is_committed].items():
        log = left.open(topic, CONFIGS[topic])
        assert consumed(ask_ottla(log, ()), is_committed=is_committed) == records, topic
        log.close()


def test_kafkas_logs_hold_what_they_should(seen: Seen) -> None:
    """Several segments and epochs, cleaned ones, transactions of every fate: or the comparison would say little."""
    left = left_by_kafka(seen, "stopped")
    for topic, answers in left.answers.items():
        assert len(answers.pieces) > 1, topic
        assert answers.epoch_ends[0] != answers.epoch_ends[2] != (-1, -1), topic
    for topic in kafka_topics.COMPACTED:
        offsets = [batch.base_offset for batch in iter_batches(left.answers[topic].data)]
        assert len(offsets) < 0.8 * left.answers[topic].end_offset, topic
    for topic in ("kafka-transactions", "kafka-compacted-transactions"):
        assert left.answers[topic].last_stable_offset < left.answers[topic].end_offset
        assert left.answers[topic].aborted
    assert left.answers["kafka-deleted"].start_offset == 101
    codecs = {batch.codec for answers in left.answers.values() for batch in iter_batches(answers.data)}
    assert codecs == set(range(5))


# Ottla's logs in Kafka's hands


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_kafka_answers_for_a_log_of_ottlas_as_ottla_does(seen: Seen, name: str) -> None:
    theirs = seen.swapped[name]
    assert seen.epochs_before_swap[name] >= 2, "the epochs in our logs must be past ones for Kafka"
    log = seen.ours[name].open()
    assert_alike(log, theirs)


@pytest.mark.parametrize("is_committed", BOTH, ids=["uncommitted", "committed"])
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_read_every_record_that_ottla_wrote_from_kafka(seen: Seen, client: str, is_committed: bool) -> None:
    for name, records in seen.swapped_readings[client, is_committed].items():
        written = seen.ours[name]
        assert records == (written.committed if is_committed else written.records), name


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_offsets_are_those_that_ottla_gave(seen: Seen, name: str) -> None:
    written, theirs = seen.ours[name], seen.swapped[name]
    assert (theirs.start_offset, theirs.end_offset) == (written.start_offset, written.end_offset)
    assert theirs.last_stable_offset == written.last_stable_offset


def test_times_are_compared_for_all_but_emptied_logs(seen: Seen) -> None:
    """Where the cleaner emptied something, an answer of Kafka's that there is none is passed over: not elsewhere."""
    emptied = {name for name, written in seen.ours.items() if is_emptied(written.open())}
    assert emptied == {"ottla-compacted-to-nothing", "ottla-compacted-transactions"}
    found = [offset for offset in seen.swapped["ottla-compacted"].by_timestamp.values() if offset is not None]
    assert len(found) > 100


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_kafka_knows_every_producer_that_wrote_to_ottla(seen: Seen, name: str) -> None:
    expected = [
        Producer(
            producer_id,
            sent.epoch,
            sent.last_batch.last_sequence,
            sent.last_timestamp,
            sent.coordinator_epoch,
            sent.transaction_first_offset,
        )
        for producer_id, sent in seen.ours[name].producers.items()
        if sent.last_batch is not None
    ]
    assert seen.swapped[name].producers == sorted(expected)


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_the_offset_of_a_time_is_that_of_the_first_record_that_is_not_older(seen: Seen, name: str) -> None:
    log = seen.ours[name].open()
    batches = iter_batches(ask_ottla(log, ()).data)
    # Markers have a time as well, and in Kafka they count.
    records = [record for batch in batches for record in records_from(batch, log.start_offset)]
    for timestamp in asked_timestamps(records):
        expected = next((record for record in records if record.timestamp >= timestamp), None)
        found = offset_by_timestamp(log, timestamp)
        assert (found and found[:2]) == (expected and (expected.timestamp, expected.offset)), timestamp


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_kafka_goes_on_where_ottla_ended_and_ottla_takes_it_back(seen: Seen, name: str) -> None:
    assert seen.continued is not None
    assert seen.added is not None
    written, theirs = seen.ours[name], seen.continued.answers[name]
    log = seen.continued.open(name, written.config)
    assert_alike(log, theirs)
    ours = ask_ottla(log, ())
    assert ours.data.startswith(seen.swapped[name].data)
    added = seen.added._replace(offset=written.end_offset)
    if not written.config.log_append_time:
        assert consumed(ours, is_committed=False) == [*written.records, added]
    log.close()


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_kafka_recovers_a_log_of_ottlas_without_losing_a_byte(seen: Seen, name: str) -> None:
    theirs = seen.recovered[name]
    log = seen.ours[name].open()
    assert_alike(log, theirs, is_recovered=True)


@pytest.mark.parametrize("name", ottla_logs.NAMES)
def test_indexes_that_kafka_builds_from_the_log_are_those_that_ottla_wrote(seen: Seen, name: str) -> None:
    assert seen.recovered_log_dir is not None
    rebuilt = seen.recovered_log_dir / f"{name}-0"
    written = seen.ours[name]
    for path, is_last in index_files(written.directory):
        if path.suffix == ".txnindex" and written.config.compact:
            continue  # the markers of transactions whose records the cleaner removed say nothing any more
        theirs = (rebuilt / path.name).read_bytes()
        if is_last:
            # Kafka keeps the last segment's indexes at their largest size until it stops.
            theirs = theirs[: path.stat().st_size]
        assert path.read_bytes() == theirs, path.name


def index_files(directory: Path) -> Iterator[tuple[Path, bool]]:
    """The index files of a log, and whether they are the last segment's, to which more may be added."""
    last = max(path.stem for path in directory.glob("*.log"))
    for path in sorted(directory.iterdir()):
        if path.suffix in (".index", ".timeindex", ".txnindex"):
            yield path, path.stem == last
