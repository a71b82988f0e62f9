"""The same through client libraries: what their users see of records, offsets and topics, compared like all else.

Each client's own tests are in compat_tests/clients and beside it; here a few stories are told by those that are Python
libraries, so that the comparison holds for whoever looks through a client.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.records import CODECS, Face, Producing, Sent
from compat_tests.scenarios.batches import TIME_MS
from compat_tests.scenarios.plain import shown_bytes
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage

AREA = Area("clients")
FACES: tuple[type[Any], ...] = (KafkaPython, Confluent, Aiokafka)
RECORDS = [
    Sent(b"one", key=b"k", timestamp_ms=TIME_MS),
    Sent(None, key=b"k", timestamp_ms=TIME_MS + 1, headers=(("h", b"1"), ("h", b""))),
    Sent(b"", timestamp_ms=TIME_MS + 2, partition=1),
    Sent(b"four" * 300, timestamp_ms=TIME_MS + 3),
]


def seen(stage: Stage, face: Face, topic: str) -> None:
    for record in face.read(topic, {0: 0, 1: 0}, len(RECORDS)):
        fields = asdict(record)
        fields |= {"value": shown_bytes(record.value), "key": shown_bytes(record.key)}
        fields["headers"] = [[key, shown_bytes(value)] for key, value in record.headers]
        stage.note("record", fields)


@AREA.cases({f"{face.name}, {codec}": (face, codec) for face in FACES for codec in CODECS})
def records_there_and_back(stage: Stage, case: tuple[type[Any], str]) -> None:
    kind, codec = case
    face = kind(stage.place.bootstrap)
    topic = stage.topic(partitions=2)
    stage.note("offsets", face.produce(topic, RECORDS, Producing(codec=codec)))
    seen(stage, face, topic)


@AREA.cases({face.name: face for face in FACES})
def offsets_looked_up(stage: Stage, kind: type[Any]) -> None:
    face = kind(stage.place.bootstrap)
    topic = stage.topic(partitions=2)
    face.produce(topic, RECORDS)
    stage.note("ends", [[face.earliest(topic, index), face.latest(topic, index)] for index in (0, 1)])
    stage.note("by time", [face.offset_for_time(topic, 0, TIME_MS + step) for step in (-1, 0, 1, 2, 3, 4)])
