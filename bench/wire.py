"""Codecs side by side in one run: ours, kafka-python's (pure Python) and kio's (native readers, Python writers).

Every codec gets the same bytes and encodes the object it decoded from them. Rounds alternate between the codecs and
the best round of each counts, so that a busy machine disturbs all of them alike. Figures are microseconds.

    python bench/wire.py [--rounds N]
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from kio.serial import entity_reader, entity_writer

from ottla.wire.messages.fetch import FetchResponse
from ottla.wire.messages.metadata import MetadataResponse
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.records import BatchBuilder, RecordBatch
from ottla.wire.records.checksum import crc32c
from ottla.wire.schema import Message

ROUND_SECONDS = 0.05


def batch_of(size_bytes: int) -> bytes:
    """A batch of about this many bytes, in records of 1 KB."""
    builder = BatchBuilder()
    for number in range(max(1, size_bytes // 1024)):
        builder.append(key=None, value=bytes([number % 256]) * 1010, timestamp=1_700_000_000_000)
    return builder.build()


def produce_request(batch: bytes) -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=3, records=batch)
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def fetch_response(batch: bytes) -> FetchResponse:
    partition = FetchResponse.PartitionData(
        partition_index=3,
        high_watermark=1000,
        last_stable_offset=1000,
        log_start_offset=0,
        aborted_transactions=None,
        records=batch,
    )
    response = FetchResponse.FetchableTopicResponse(topic="orders", partitions=[partition])
    return FetchResponse(session_id=7, responses=[response])


def metadata_response(topic_count: int) -> MetadataResponse:
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=n, host=f"broker-{n}.example.org", port=9092, rack=None)
        for n in range(3)
    ]
    topics = [
        MetadataResponse.MetadataResponseTopic(
            name=f"topic-{n:04}",
            topic_id=bytes(15) + bytes([n % 255 + 1]),
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    partition_index=0,
                    leader_id=n % 3,
                    leader_epoch=5,
                    replica_nodes=[0, 1, 2],
                    isr_nodes=[0, 1, 2],
                )
            ],
        )
        for n in range(topic_count)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=topics)


def ours(message: Message, version: int) -> tuple[Callable[[], Any], Callable[[], Any], bytes]:
    data = message.encode(version)
    kind = type(message)
    assert kind.decode(data, version).encode(version) == data
    return (lambda: message.encode(version)), (lambda: kind.decode(data, version)), data


def kio(path: str, name: str, data: bytes) -> tuple[Callable[[], Any], Callable[[], Any]]:
    entity = getattr(import_module(path), name)
    reader, writer = entity_reader(entity), entity_writer(entity)
    value, _ = reader(data, 0)

    def encode() -> bytes:
        out = io.BytesIO()
        writer(out, value)
        return out.getvalue()

    assert encode() == data
    return encode, lambda: reader(data, 0)


def kafka_python(path: str, name: str, data: bytes, version: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    entity = getattr(import_module(path), name)
    value = entity.decode(data, version=version)
    value._header = None
    assert value.encode(version=version) == data
    return (lambda: value.encode(version=version)), (lambda: entity.decode(data, version=version))


def best_us(functions: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The best round of each function, the functions taking turns."""
    counts = {}
    for name, function in functions.items():
        started = time.perf_counter()
        for _ in range(20):
            function()
        counts[name] = max(1, int(20 * ROUND_SECONDS / (time.perf_counter() - started)))
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            started = time.perf_counter()
            for _ in range(counts[name]):
                function()
            best[name] = min(best[name], (time.perf_counter() - started) / counts[name] * 1e6)
    return best


def cases() -> dict[str, dict[str, Callable[[], Any]]]:
    batch = batch_of(16 * 1024)
    table: dict[str, dict[str, Callable[[], Any]]] = {}
    for label, message, version, kio_module, kafka_module in (
        ("Produce request v9, 16 KB", produce_request(batch), 9, "produce.v9.request", "producer"),
        ("Fetch response v12, 16 KB", fetch_response(batch), 12, "fetch.v12.response", "consumer"),
        ("Metadata response v12, 100 topics", metadata_response(100), 12, "metadata.v12.response", "metadata"),
    ):
        name = type(message).__name__
        encode, decode, data = ours(message, version)
        kio_encode, kio_decode = kio(f"kio.schema.{kio_module}", name, data)
        python_encode, python_decode = kafka_python(f"kafka.protocol.{kafka_module}", name, data, version)
        table[f"encode {label}"] = {"ottla": encode, "kafka-python": python_encode, "kio": kio_encode}
        table[f"decode {label}"] = {"ottla": decode, "kafka-python": python_decode, "kio": kio_decode}
    return table


def print_codecs(rounds: int) -> None:
    print(f"{'codec':44} {'ottla':>9} {'kafka-python':>13} {'kio':>9}   x kafka-python   x kio")
    for label, functions in cases().items():
        us = best_us(functions, rounds)
        versus = (us["kafka-python"] / us["ottla"], us["kio"] / us["ottla"])
        print(
            f"{label:44} {us['ottla']:9.2f} {us['kafka-python']:13.2f} {us['kio']:9.2f}"
            f"   {versus[0]:14.2f}   {versus[1]:5.2f}"
        )


def print_batch(rounds: int) -> None:
    batch = memoryview(batch_of(16 * 1024))
    body = batch[21:]
    us = best_us({"crc": lambda: crc32c(body, 0), "batch": lambda: RecordBatch(batch).check_crc()}, rounds)
    print(f"\nbatch header and CRC check, {len(batch)} bytes: {us['batch']:.2f}, the CRC itself {us['crc']:.2f}")


def print_imports() -> None:
    for module in ("ottla.wire", "ottla.wire.records", "ottla.wire.catalog"):
        code = f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1000)"
        runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
        print(f"import {module}: {min(runs):.1f} ms")
    code = (
        "import time; t = time.perf_counter(); from ottla.wire.catalog import messages; messages();"
        "print((time.perf_counter() - t) * 1000)"
    )
    runs = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(7)]
    print(f"import every declared message: {min(runs):.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="rounds per codec and case (default %(default)s)")
    rounds = parser.parse_args().rounds
    print_codecs(rounds)
    print_batch(rounds)
    print_imports()


if __name__ == "__main__":
    main()
