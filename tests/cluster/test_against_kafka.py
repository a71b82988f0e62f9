"""Metadata records, images, changes of partitions and formatted directories beside those of Apache Kafka 4.3.

Kafka's own classes run in java/MetadataHarness.java; its storage tool and its log dumper run as they are. Every frame
is read by Kafka and written back to the same bytes; random logs lead to the same image; random changes of partitions
lead to the same record, to the byte. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from ottla.cluster import bootstrap
from ottla.cluster.controller.partition_change import Election, PartitionChange
from ottla.cluster.features import VersionRange, default_levels
from ottla.cluster.image import EMPTY, MetadataDelta, Partition, snapshot_records
from ottla.cluster.image.snapshot_file import read_snapshot
from ottla.cluster.metadata_log import RECORD_TYPES, decode_record, encode_record, metadata_batch
from ottla.wire.primitives import uuid_bytes
from ottla.wire.records import RecordBatch, iter_batches, iter_records
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import ClientQuotaRecord, RegisterBrokerRecord, ZkMigrationStateRecord
from tests import jvm
from tests.cluster.kafka_metadata import KafkaMetadata, running
from tests.cluster.metadata_samples import metadata_log

pytestmark = pytest.mark.jvm

TOPIC_ID = bytes(range(16))
SERVED = {name: VersionRange(0, level) for name, level in default_levels().items()}
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaMetadata]:
    with running() as harness:
        yield harness


def run_tool(main_class: str, *args: str) -> str:
    """The output of one of Kafka's own tools."""
    with jvm.java(jvm.kafka_classpath(), main_class, *args) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


def test_kafka_reads_every_frame_of_ours_and_writes_the_same_bytes(kafka: KafkaMetadata) -> None:
    seen = set()
    for seed in range(20):
        for record in metadata_log(seed):
            frame = encode_record(record).hex()
            assert kafka.ask("echo", frame) == frame, record
            seen.add(type(record).type_id)
    assert seen == RECORD_TYPES.keys() - {23, 24, 25}, "a random log has every kind but the marks of transactions"


def test_kafka_refuses_the_frames_that_we_refuse(kafka: KafkaMetadata) -> None:
    assert kafka.ask("echo", "020c00") == "MetadataParseException"  # another frame version
    assert kafka.ask("echo", "016300") == "MetadataParseException"  # an unknown type
    good = encode_record(metadata_log(1)[0]).hex()
    assert kafka.ask("echo", good + "00") == "MetadataParseException"  # a byte too many


def test_random_logs_lead_to_the_image_that_kafka_has(kafka: KafkaMetadata) -> None:
    for seed in range(60):
        log = metadata_log(seed)
        delta = MetadataDelta(EMPTY)
        for record in log:
            delta.replay(record)
        image = delta.apply(len(log), 1, 1)
        # Kafka 4 reads the state of a migration from ZooKeeper and forgets it; we keep it.
        ours = [r for r in snapshot_records(image) if not isinstance(r, ZkMigrationStateRecord)]
        theirs = kafka.ask("image", *(encode_record(record).hex() for record in log)).split()
        assert sorted(map(readable, ours)) == sorted(readable(decode_record(bytes.fromhex(f))) for f in theirs), seed


def readable(record: StoredRecord) -> str:
    """Parts of a quota's entity and directories of a broker have no order of their own; Kafka sorts them its way."""
    if isinstance(record, ClientQuotaRecord):
        record.entity.sort(key=lambda part: part.entity_type)
    if isinstance(record, RegisterBrokerRecord):
        record.log_dirs.sort()
    return repr(record)


def ids(values: list[int] | tuple[int, ...]) -> str:
    return ",".join(map(str, values)) or "none"


def random_partition(random: Random) -> Partition:
    replicas = random.sample(range(1, 7), random.randint(1, 4))
    isr = random.sample(replicas, random.randint(0, len(replicas)))
    outside = [replica for replica in replicas if replica not in isr]
    elr = sorted(random.sample(outside, random.randint(0, len(outside))))
    going, coming = random.sample(replicas, 2) if len(replicas) > 1 and random.random() < 0.3 else (None, None)
    return Partition(
        tuple(replicas),
        tuple(random.randbytes(16) for _ in replicas),
        tuple(isr),
        removing_replicas=() if going is None else (going,),
        adding_replicas=() if coming is None or random.random() < 0.3 else (coming,),
        leader=random.choice([-1, *isr]),
        leader_recovery_state=random.randint(0, 1),
        leader_epoch=random.randint(0, 9),
        partition_epoch=random.randint(0, 9),
        elr=tuple(elr),
        last_known_elr=tuple(random.sample(replicas, random.randint(0, min(2, len(replicas))))),
    )


def test_random_changes_of_partitions_are_those_that_kafka_makes(kafka: KafkaMetadata) -> None:
    seed = 966
    random = Random(seed)
    compared = 0
    for round_number in range(6000):
        before = random_partition(random)
        version = random.choice([11, 16, 21, 23, 30, 30, 30])
        elr_enabled = version >= 23 and random.random() < 0.7
        if not elr_enabled:
            before = before._replace(elr=(), last_known_elr=())
        active = random.sample(range(1, 7), random.randint(0, 6))
        min_isr = random.randint(1, 3)
        change = PartitionChange(
            before,
            TOPIC_ID,
            3,
            is_acceptable_leader=set(active).__contains__,
            default_log_dir=lambda broker_id: (7).to_bytes(8, "big") + broker_id.to_bytes(8, "big"),
            metadata_version=version,
            min_insync_replicas=min_isr,
            elr_enabled=elr_enabled,
        )
        words = fill_in(random, change)
        if version < 17:
            before = before._replace(directories=(bytes(16),) * len(before.replicas))
            change.partition = before
            change.directories = dict.fromkeys(before.replicas, bytes(16))
            words[-1] = "-"
        frame = encode_record(before.to_record(TOPIC_ID, 3, version), version).hex()
        answer = kafka.ask(
            "change", frame, version, min_isr, str(elr_enabled).lower(), change.election.name, *([ids(active), *words])
        )
        record = change.build()
        ours = "none" if record is None else encode_record(record, version).hex()
        if drops_an_eligible_replica(before, change, answer):
            continue
        assert ours == answer, (seed, round_number, before, words, record, readable_frame(answer))
        compared += 1
    assert compared > 5000


def fill_in(random: Random, change: PartitionChange) -> list[str]:
    """Random targets, and the words that tell Kafka of them."""
    before = change.partition
    words = ["-"] * 5
    if random.random() < 0.7:
        change.isr = random.sample(before.replicas, random.randint(0, len(before.replicas)))
        words[0] = ids(change.isr)
    if random.random() < 0.3:
        target = random.sample(range(1, 7), random.randint(1, 4))
        removing = [replica for replica in before.replicas if replica not in target]
        change.replicas = [*target, *removing]
        change.removing = removing
        change.adding = [replica for replica in target if replica not in before.replicas]
        words[1:4] = ids(change.replicas), ids(change.removing), ids(change.adding)
    if random.random() < 0.3:
        change.unclean_shutdown_replica = random.choice(before.replicas)
        words[4] = str(change.unclean_shutdown_replica)
        change.isr = [replica for replica in change.isr if replica != change.unclean_shutdown_replica]
        words[0] = ids(change.isr)
    change.election = random.choice(list(Election))
    change.leader_recovery_state = random.randint(0, 1)
    words.append(str(change.leader_recovery_state))
    if random.random() < 0.2:
        replica = random.choice(before.replicas)
        change.directories[replica] = (8).to_bytes(8, "big") * 2
        words.append(str(replica))
    else:
        words.append("-")
    return words


def drops_an_eligible_replica(before: Partition, change: PartitionChange, answer: str) -> bool:
    """Kafka keeps a replica eligible that a completed reassignment dropped; it could never lead, and we do not."""
    if answer == "none":
        return False
    record = readable_frame(answer)
    elr = record.eligible_leader_replicas if record.eligible_leader_replicas is not None else before.elr
    return not set(elr) <= set(change.replicas)


def readable_frame(frame: str) -> object:
    return frame if frame == "none" else decode_record(bytes.fromhex(frame))


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that Kafka's storage tool formatted."""
    directory = tmp_path_factory.mktemp("kafka")
    properties = directory / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers=localhost:19093\n"
        "listeners=PLAINTEXT://localhost:19092,CONTROLLER://localhost:19093\ncontroller.listener.names=CONTROLLER\n"
        f"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs={directory / 'data'}\n"
    )
    run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), "--standalone")
    return directory / "data"


def content(data: bytes) -> list[tuple[object, ...]]:
    """Batches without what the clock put in: times and checksums."""
    return [
        (
            batch.base_offset,
            batch.leader_epoch,
            batch.attributes,
            batch.last_offset_delta,
            batch.producer_id,
            records(batch),
        )
        for batch in iter_batches(data)
    ]


def records(batch: RecordBatch) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in iter_records(batch, bytes_max=1 << 20)]


def test_bootstrap_checkpoint_is_what_the_storage_tool_writes(formatted: Path) -> None:
    ours = bootstrap.bootstrap_checkpoint(bootstrap.feature_records(SERVED), timestamp=1)
    assert content(ours) == content((formatted / bootstrap.BOOTSTRAP_FILE_NAME).read_bytes())


def test_the_first_snapshot_is_what_the_storage_tool_writes(formatted: Path) -> None:
    path = formatted / bootstrap.METADATA_LOG_DIRECTORY / bootstrap.BOOTSTRAP_SNAPSHOT.file_name
    theirs = path.read_bytes()
    snapshot = read_snapshot(theirs)
    lines = (formatted / "meta.properties").read_text().splitlines()
    directory_id = next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))
    ours = bootstrap.standalone_snapshot(
        node_id=1,
        directory_id=uuid_bytes(directory_id),
        endpoints=[bootstrap.Endpoint("CONTROLLER", "localhost", 19093)],
        timestamp=snapshot.last_contained_log_timestamp,
    )
    assert content(ours) == content(theirs)


def test_kafka_reads_our_bootstrap_checkpoint(kafka: KafkaMetadata, tmp_path: Path) -> None:
    features = bootstrap.feature_records({"group.version": VersionRange(0, 1)})
    (tmp_path / bootstrap.BOOTSTRAP_FILE_NAME).write_bytes(bootstrap.bootstrap_checkpoint(features, timestamp=7))
    assert kafka.ask("bootstrap", tmp_path).split() == [encode_record(record).hex() for record in features]


def test_kafkas_log_dumper_names_every_record_of_a_log_of_ours(tmp_path: Path) -> None:
    log = [
        *metadata_log(3),
        *bootstrap.activation_records([], metadata_version=30, in_transaction=True, min_insync_replicas=1),
    ]
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(metadata_batch(log, base_offset=0, leader_epoch=1, timestamp=1))
    output = run_tool("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(path))
    assert "isvalid: true" in output
    assert output.count('payload: {"type":') == len(log)
    assert "ABORT_TRANSACTION_RECORD" in output
