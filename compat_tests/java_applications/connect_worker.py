"""Kafka Connect with its file connectors: how a worker is configured, started, told by REST, and what it prints.

Standalone, where the worker keeps its offsets in a file, and distributed, where workers are a group and keep offsets,
configurations and states in compacted topics. The source reads lines from a file into a topic, the sink writes them
into another file. What lines, and what becomes of the workers, the caller knows.
"""

from __future__ import annotations

import contextlib
import json
import re
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from compat_tests.java_applications.application import SECONDS_MAX, Application, running

HOST = "127.0.0.1"
TOPIC, SOURCE, SINK = "copied", "source", "sink"
SINK_GROUP = f"connect-{SINK}"
WORKERS_GROUP = "workers"
OFFSETS, CONFIGS, STATES = "connect-offsets", "connect-configs", "connect-states"
SINGLE_NODE = {"partitions": "1", "replication.factor": "1"}
FILE_CONNECTORS = "org.apache.kafka.connect.file.FileStream"
# A worker is of use when it has started, and takes part in its group.
STARTED = r"Kafka Connect started"
JOINED = r"Finished starting connectors and tasks"
SERVING = r"REST server listening at (http://\S+?)/?,"


def worker_properties(bootstrap: str) -> dict[str, str]:
    text = "org.apache.kafka.connect.storage.StringConverter"
    return {
        "bootstrap.servers": bootstrap,
        "key.converter": text,
        "value.converter": text,
        "listeners": f"http://{HOST}:0",
        "offset.flush.interval.ms": "200",
        "plugin.discovery": "service_load",
    }


def distributed_properties(bootstrap: str) -> dict[str, str]:
    return {
        **worker_properties(bootstrap),
        "group.id": WORKERS_GROUP,
        "offset.storage.topic": OFFSETS,
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
        "config.storage.topic": CONFIGS,
        "config.storage.replication.factor": "1",
        "status.storage.topic": STATES,
        "status.storage.replication.factor": "1",
        "status.storage.partitions": "2",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "200",
        # A worker that is gone is not waited for.
        "scheduled.rebalance.max.delay.ms": "0",
    }


def source_properties(path: Path) -> dict[str, str]:
    creation = {f"topic.creation.default.{key}": value for key, value in SINGLE_NODE.items()}
    return {
        "connector.class": f"{FILE_CONNECTORS}SourceConnector",
        "tasks.max": "1",
        "file": str(path),
        "topic": TOPIC,
        **creation,
    }


def sink_properties(path: Path) -> dict[str, str]:
    return {
        "connector.class": f"{FILE_CONNECTORS}SinkConnector",
        "tasks.max": "1",
        "file": str(path),
        "topics": TOPIC,
        # The sink may be there before the topic; it has to hear of it.
        "consumer.override.metadata.max.age.ms": "500",
    }


@contextlib.contextmanager
def standalone(directory: Path, bootstrap: str, source: Path, sink: Path) -> Iterator[Application]:
    directory.mkdir(exist_ok=True)
    worker = {**worker_properties(bootstrap), "offset.storage.file.filename": str(directory / "offsets")}
    paths = [
        written(directory / "worker.properties", worker),
        written(directory / "source.properties", {"name": SOURCE, **source_properties(source)}),
        written(directory / "sink.properties", {"name": SINK, **sink_properties(sink)}),
    ]
    with running(directory, "org.apache.kafka.connect.cli.ConnectStandalone", *paths) as application:
        yield application


@contextlib.contextmanager
def distributed(directory: Path, bootstrap: str) -> Iterator[Application]:
    directory.mkdir(exist_ok=True)
    path = written(directory / "worker.properties", distributed_properties(bootstrap))
    with running(directory, "org.apache.kafka.connect.cli.ConnectDistributed", path) as application:
        yield application


def written(path: Path, properties: Mapping[str, str]) -> str:
    path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()), encoding="utf-8")
    return str(path)


def wait_until_written(application: Application, line: str) -> None:
    """Until the sink has been given this line."""
    application.wait_for(rf"Writing line to \S+: {re.escape(line)} \(")


def put_connector(application: Application, name: str, properties: Mapping[str, str]) -> None:
    """Have a worker configure a connector; it answers when the leader of the workers has written that down."""
    application.wait_for(JOINED)
    application.wait_for(STARTED)
    (serving, *_) = application.wait_for(SERVING)
    request = urllib.request.Request(
        f"{serving[1]}/connectors/{name}/config",
        json.dumps(properties).encode(),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=SECONDS_MAX) as answer:
        assert answer.status in (200, 201), answer.read()
