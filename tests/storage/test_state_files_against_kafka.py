"""The small files and the producer state beside those of Apache Kafka 4.3: equal bytes, equal answers.

Kafka's own classes run in java/StateHarness.java. Every file is written by both and compared to the byte, and read by
the other; leader epochs and producer state go through random histories side by side. Seeds are fixed.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from pathlib import Path
from random import Random
from subprocess import Popen

import pytest

from ottla.storage import directory_names, offset_checkpoint
from ottla.storage.clean_shutdown import CleanShutdown, take_marker, write_marker
from ottla.storage.files import OsDisk
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.meta_properties import (
    MetaProperties,
    format_properties,
    parse_properties,
    read_meta_properties,
    write_meta_properties,
)
from ottla.storage.offset_checkpoint import read_offsets, write_offsets
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from ottla.storage.producer_entry import SEQUENCE_MAX
from ottla.storage.producer_snapshot import ProducerSnapshots, decode_snapshot, encode_snapshot
from ottla.storage.producer_state import AppendOrigin, ProducerState
from ottla.storage.transaction_index import TransactionIndex
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text
from tests import jvm
from tests.storage.producer_batches import NOW_MS, data_batch, marker_batch

pytestmark = pytest.mark.jvm

SOURCE = Path(__file__).parent / "java" / "StateHarness.java"
ERRORS = {
    "InvalidProducerEpochException": ErrorCode.INVALID_PRODUCER_EPOCH,
    "OutOfOrderSequenceException": ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    "InvalidTxnStateException": ErrorCode.INVALID_TXN_STATE,
    "TransactionCoordinatorFencedException": ErrorCode.TRANSACTION_COORDINATOR_FENCED,
}


class Kafka:
    """Questions to a running harness."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, *words: object) -> str:
        self.stdin.write(" ".join(map(str, words)) + "\n")
        self.stdin.flush()
        while (line := self.stdout.readline()) and not line.startswith("> "):
            pass  # a library that talks
        assert line, "the harness ended"
        return line[2:].rstrip("\n")


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "StateHarness") as process:
        yield Kafka(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours" / "t-0"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs" / "t-0"
    path.mkdir(parents=True)
    return path


DISK = OsDisk()


def test_leader_epochs_are_the_same_bytes(kafka: Kafka, ours: Path, theirs: Path) -> None:
    epochs = LeaderEpochs(DISK, str(ours))
    for epoch, start_offset in ((0, 0), (3, 17), (2**31 - 1, 2**63 - 1)):
        epochs.assign(epoch, start_offset)
    assert kafka.ask("write-epochs", theirs, 0, 0, 3, 17, 2**31 - 1, 2**63 - 1) == "ok"
    assert (ours / "leader-epoch-checkpoint").read_bytes() == (theirs / "leader-epoch-checkpoint").read_bytes()
    assert LeaderEpochs.load(DISK, str(theirs)).entries == epochs.entries
    assert kafka.ask("read-epochs", ours) == kafka.ask("read-epochs", theirs)
    epochs.clear()
    kafka.ask("write-epochs", theirs)
    assert (ours / "leader-epoch-checkpoint").read_bytes() == (theirs / "leader-epoch-checkpoint").read_bytes()


@pytest.mark.parametrize("seed", range(3))
def test_leader_epochs_go_the_same_way_through_any_history(kafka: Kafka, ours: Path, theirs: Path, seed: int) -> None:
    random = Random(seed)
    epochs = LeaderEpochs(DISK, str(ours))
    kafka.ask("new-epochs", theirs)
    for _ in range(200):
        offset = random.randrange(60)
        kind = random.choice(["assign", "assign", "assign", "truncate-end", "truncate-start"])
        if kind == "assign":
            epoch = random.randrange(40)
            epochs.assign(epoch, offset)
            answer = kafka.ask(kind, epoch, offset)
        elif kind == "truncate-end":
            epochs.truncate_from_end(offset)
            answer = kafka.ask(kind, offset)
        else:
            epochs.truncate_from_start(offset)
            answer = kafka.ask(kind, offset)
        assert answer == " ".join(f"{epoch}:{start}" for epoch, start in epochs.entries)
        asked = random.randrange(-1, 41)
        found = epochs.end_offset_for(asked, 99)
        assert kafka.ask("end-offset", asked, 99) == f"{found.epoch}:{found.start_offset}"
        assert kafka.ask("epoch-for", offset) == str(epochs.epoch_for_offset(offset))


def test_offset_checkpoints_are_the_same_bytes(kafka: Kafka, ours: Path, theirs: Path) -> None:
    name = offset_checkpoint.HIGH_WATERMARKS
    offsets = {("a", 0): 0, ("a", 12): 2**63 - 1, ("b.c_d-e", 1): 5}
    write_offsets(DISK, str(ours), name, offsets)
    words = [word for (topic, partition), offset in offsets.items() for word in (topic, partition, offset)]
    assert kafka.ask("write-offsets", theirs / name, *words) == "ok"
    assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert read_offsets(DISK, str(theirs), name) == offsets
    assert kafka.ask("read-offsets", ours / name) == "{a-0=0, a-12=9223372036854775807, b.c_d-e-1=5}"


@pytest.mark.parametrize("seed", range(5))
def test_the_topic_id_is_the_same_bytes(kafka: Kafka, ours: Path, theirs: Path, seed: int) -> None:
    topic_id = Random(seed).randbytes(16)
    write_topic_id(DISK, str(ours), topic_id)
    assert kafka.ask("read-topic-id", ours) == uuid_text(topic_id)
    assert kafka.ask("write-topic-id", theirs, uuid_text(topic_id)) == "ok"
    assert (ours / "partition.metadata").read_bytes() == (theirs / "partition.metadata").read_bytes()
    assert read_topic_id(DISK, str(theirs)) == topic_id


@pytest.mark.parametrize("epoch", [-1, 0, 42, 2**63 - 1])
def test_the_marker_of_a_clean_stop_is_the_same_bytes(kafka: Kafka, ours: Path, theirs: Path, epoch: int) -> None:
    write_marker(DISK, str(ours), epoch)
    assert kafka.ask("write-clean", theirs, epoch) == "ok"
    assert (ours / ".kafka_cleanshutdown").read_bytes() == (theirs / ".kafka_cleanshutdown").read_bytes()
    assert kafka.ask("read-clean", ours) == str(epoch)
    assert take_marker(DISK, str(theirs)) == CleanShutdown(epoch)


def test_meta_properties_are_the_same_bytes_but_for_the_date(kafka: Kafka, ours: Path, theirs: Path) -> None:
    meta = MetaProperties(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", node_id=3, directory_id=Random(1).randbytes(16))
    assert meta.directory_id is not None
    directory_id = uuid_text(meta.directory_id)
    write_meta_properties(DISK, str(ours), meta)
    assert kafka.ask("write-meta", theirs / "meta.properties", meta.cluster_id, 3, directory_id) == "ok"
    their_lines = (theirs / "meta.properties").read_bytes().splitlines(keepends=True)
    assert (
        b"".join(line for line in their_lines if not line.startswith(b"#")) == (ours / "meta.properties").read_bytes()
    )
    assert read_meta_properties(DISK, str(theirs)) == meta
    assert kafka.ask("read-meta", ours / "meta.properties") == f"1 {meta.cluster_id} 3 {directory_id}"


def test_properties_are_escaped_as_java_does(kafka: Kafka, ours: Path, theirs: Path) -> None:
    random = Random(5)
    alphabet = string.printable + "äé\u00a0\u0085\u2028😀"
    for _ in range(200):
        key, value = ("".join(random.choices(alphabet, k=random.randrange(1, 9))) for _ in range(2))
        (ours / "p").write_text(format_properties({key: value}), encoding="ascii")
        assert kafka.ask("read-properties", ours / "p") == f"{{{key.encode().hex()}={value.encode().hex()}}}"
        kafka.ask("write-properties", theirs / "p", key.encode().hex(), value.encode().hex())
        if (key + value).isascii():  # Kafka writes other text as UTF-8 and reads it as Latin-1
            assert parse_properties((theirs / "p").read_text(encoding="latin-1")) == {key: value}


@pytest.mark.parametrize(
    "text", ["a=b\\\n  c\n!x\n d : e", "a\\u0041 = \\t\\q", "a\\\n b=c", "k\\", "==", "a\x85b c\xa0"]
)
def test_properties_are_read_as_java_does(kafka: Kafka, ours: Path, text: str) -> None:
    (ours / "p").write_bytes(text.encode("latin-1"))
    values = sorted((key.encode().hex(), value.encode().hex()) for key, value in parse_properties(text).items())
    assert kafka.ask("read-properties", ours / "p") == "{" + ", ".join(f"{key}={value}" for key, value in values) + "}"


def test_directory_names_mean_the_same(kafka: Kafka) -> None:
    unique_id = "0123456789abcdef" * 2
    for topic, partition in (("a", 0), ("a-b.c", 12), ("a" * 249, 2**31 - 1)):
        name = directory_names.current_name(topic, partition)
        assert kafka.ask("parse-name", name) == f"{topic}-{partition}"
        deleted = directory_names.deleted_name(topic, partition, unique_id)
        theirs = kafka.ask("delete-name", topic, partition)
        assert deleted.replace(unique_id, "") == theirs.replace(theirs[-39:-7], "")
        assert kafka.ask("parse-name", deleted) == "{}-{}".format(*directory_names.parse(theirs))
    for foreign in ("a", "a-", "-0", "a-x", "a-0-delete", "a.b-delete"):
        assert kafka.ask("parse-name", foreign) == "KafkaException"
        with pytest.raises(ValueError, match="directory"):
            directory_names.parse(foreign)


def test_transaction_indexes_are_the_same_bytes_and_give_the_same_answers(
    kafka: Kafka, ours: Path, theirs: Path
) -> None:
    random = Random(3)
    index = TransactionIndex(DISK, str(ours / "0.txnindex"), 0)
    words: list[int] = []
    stable = 0
    for number in range(200):
        last_offset = number * 10 + 5
        stable = random.randint(stable, last_offset)
        first_offset = random.randint(stable, last_offset)
        index.append(CompletedTransaction(number, first_offset, last_offset, True), stable)
        words += (number, first_offset, last_offset, stable)
    kafka.ask("write-aborted", theirs / "0.txnindex", *words)
    assert (ours / "0.txnindex").read_bytes() == (theirs / "0.txnindex").read_bytes()
    for _ in range(100):
        fetch_offset = random.randrange(2100)
        end_offset = fetch_offset + random.randint(1, 300)
        found = index.search(fetch_offset, end_offset)
        expected = [f"{transaction.producer_id}:{transaction.first_offset}" for transaction in found.transactions]
        answer = kafka.ask("search-aborted", ours / "0.txnindex", fetch_offset, end_offset)
        assert answer == " ".join([str(found.is_complete).lower(), *expected])


class Pair:
    """Our producer state and Kafka's, told the same and asked the same."""

    def __init__(self, kafka: Kafka, directory: Path) -> None:
        self.kafka = kafka
        self.state = ProducerState("t-0")
        self.offset = 0
        self.outcomes: set[str] = set()
        assert kafka.ask("new-producers", directory) == "ok"

    def data(
        self, producer_id: int, epoch: int, sequence: int, count: int, is_transactional: bool, origin: AppendOrigin
    ) -> None:
        batch = data_batch(
            *(producer_id, sequence, self.offset),
            count=count,
            epoch=epoch,
            is_transactional=is_transactional,
            timestamp=NOW_MS + self.offset,
        )
        answer = "ok"
        try:
            appended = self.state.check(batch, origin, committed_end=self.offset)
            if appended is not None:
                answer = f"duplicate:{appended.first_offset}:{appended.last_offset}"
            else:
                self.state.apply(batch, NOW_MS)
        except KafkaError as error:
            # What is in the log, and older than the last five, Kafka takes for something out of order (KAFKA-9199).
            is_old = error.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
            answer = "OUT_OF_ORDER_SEQUENCE_NUMBER" if is_old else error.code.name
        words = (producer_id, epoch, sequence, batch.last_sequence, batch.max_timestamp, self.offset, batch.last_offset)
        self.compare(answer, "data", *words, str(is_transactional).lower(), origin.name)
        self.offset += count

    def marker(
        self, producer_id: int, epoch: int, coordinator_epoch: int, is_commit: bool, version: int, origin: AppendOrigin
    ) -> None:
        batch = marker_batch(
            *(producer_id, self.offset),
            is_commit=is_commit,
            epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=NOW_MS + self.offset,
        )
        answer = "ok"
        try:
            self.state.check(batch, origin, transaction_version=version)
            completed = self.state.apply(batch, NOW_MS)
            if completed is not None:
                stable = self.state.stable_offset_after(completed)
                self.state.complete(completed)
                is_aborted = str(completed.is_aborted).lower()
                answer = f"completed:{completed.first_offset}:{completed.last_offset}:{is_aborted}:{stable}"
        except KafkaError as error:
            answer = error.code.name
        words = (producer_id, epoch, coordinator_epoch, self.offset, batch.max_timestamp, str(is_commit).lower())
        self.compare(answer, "marker", *words, version, origin.name)
        self.offset += 1

    def verify(self, producer_id: int, sequence: int, epoch: int, is_epoch_bumped: bool) -> None:
        entry = self.state.producers.get(producer_id)
        if entry is not None and (epoch < entry.producer_epoch or entry.transaction_first_offset >= 0):
            return  # Kafka asks these questions elsewhere
        self.state.verify(producer_id, sequence, epoch, is_epoch_bumped=is_epoch_bumped, now_ms=NOW_MS)
        self.kafka.ask("verify", producer_id, sequence, epoch, str(is_epoch_bumped).lower())

    def replicated(self, offset: int) -> None:
        self.state.advance_high_watermark(offset)
        assert self.kafka.ask("replicated", offset) == self.transactions()

    def compare(self, answer: str, *words: object) -> None:
        outcome, _, transactions = self.kafka.ask(*words).partition(" ")
        code = ERRORS.get(outcome)
        assert answer == (code.name if code is not None else outcome), words
        assert transactions == self.transactions(), words
        self.outcomes.add(answer.partition(":")[0])

    def transactions(self) -> str:
        found = (self.state.first_unstable_offset, self.state.first_undecided_offset)
        return " ".join("-" if offset is None else str(offset) for offset in found)


def random_step(pair: Pair, random: Random) -> None:
    producer_id = random.randrange(6)
    entry = pair.state.producers.get(producer_id)
    epoch = max(0, (entry.producer_epoch if entry else 0) + random.choice([0] * 12 + [1, -1]))
    is_open = entry is not None and entry.transaction_first_offset >= 0
    replicates = random.random() < 0.1
    choice = random.random()
    if choice < 0.65:
        sequence = entry.next_sequence if entry else random.choice([0, 5, SEQUENCE_MAX - 3])
        sequence = (sequence + random.choice([0] * 12 + [1, -1, -2])) & SEQUENCE_MAX
        origin = AppendOrigin.REPLICATION if replicates else AppendOrigin.CLIENT
        is_transactional = is_open if replicates or random.random() < 0.8 else not is_open
        pair.data(producer_id, epoch, sequence, random.randint(1, 3), is_transactional, origin)
    elif choice < 0.7 and is_open:
        pair.data(producer_id, epoch, -1, 1, True, AppendOrigin.COORDINATOR)
    elif choice < 0.85:
        coordinator_epoch = random.choice([3, 3, 3, 4, 2])
        origin = AppendOrigin.REPLICATION if replicates else AppendOrigin.COORDINATOR
        pair.marker(producer_id, epoch, coordinator_epoch, random.random() < 0.5, random.choice([0, 1, 2]), origin)
    elif choice < 0.9:
        pair.verify(producer_id, entry.next_sequence if entry else 0, epoch, random.random() < 0.5)
    else:
        pair.replicated(random.randint(0, pair.offset))


@pytest.mark.parametrize("seed", range(4))
def test_producer_state_goes_the_same_way_through_any_history(
    kafka: Kafka, ours: Path, theirs: Path, seed: int
) -> None:
    random = Random(seed)
    pair = Pair(kafka, theirs)
    snapshots = ProducerSnapshots(DISK, str(ours))
    for number in range(1, 2001):
        random_step(pair, random)
        if number % 500 == 0 and pair.state.end_offset not in snapshots.offsets:
            snapshots.take(pair.state.end_offset, pair.state.producers.values())
            name = kafka.ask("snapshot")
            assert name == f"{pair.state.end_offset:020d}.snapshot"
            assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert pair.outcomes >= {"ok", "duplicate", "completed", *(code.name for code in ERRORS.values())}


def test_each_reads_the_snapshots_of_the_other(kafka: Kafka, ours: Path, theirs: Path) -> None:
    state = ProducerState("t-0")
    state.apply(data_batch(3, 0, 0, count=5, is_transactional=True), NOW_MS)
    state.apply(data_batch(5, SEQUENCE_MAX, 5, count=2, epoch=9), NOW_MS)
    state.apply(marker_batch(7, 7, coordinator_epoch=4), NOW_MS)
    (ours / "s").write_bytes(encode_snapshot(state.producers.values()))
    assert kafka.ask("rewrite-snapshot", ours / "s", theirs / "s") == "3"
    assert (ours / "s").read_bytes() == (theirs / "s").read_bytes()
    assert encode_snapshot(decode_snapshot("s", (theirs / "s").read_bytes())) == (ours / "s").read_bytes()
    (ours / "damaged").write_bytes((ours / "s").read_bytes()[:-1] + b"\1")
    assert kafka.ask("rewrite-snapshot", ours / "damaged", theirs / "s") == "CorruptSnapshotException"
