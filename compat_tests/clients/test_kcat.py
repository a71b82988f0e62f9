"""kcat's other modes: listing, querying, and reading from the end, by time, and in any form."""

from __future__ import annotations

import json

from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kcat_face import Kcat
from compat_tests.clients.records import Sent
from compat_tests.kafka_process import NODE_ID
from compat_tests.side_by_side import Side

YEAR_2020_MS = 1_577_836_800_000


def test_it_lists_the_brokers_and_a_topic(kcat: Kcat, make_topic: MakeTopic, broker: Side) -> None:
    topic = make_topic(2)
    told = json.loads(kcat.run("-L", "-J", "-t", topic))
    assert told["brokers"] == [{"id": NODE_ID, "name": broker.bootstrap}]
    assert told["controllerid"] == NODE_ID
    partition = {"leader": NODE_ID, "replicas": [{"id": NODE_ID}], "isrs": [{"id": NODE_ID}]}
    assert told["topics"] == [{"topic": topic, "partitions": [{"partition": n, **partition} for n in (0, 1)]}]


def test_it_lists_every_topic(kcat: Kcat, make_topic: MakeTopic) -> None:
    topics = {make_topic() for _ in range(3)}
    assert topics <= {told["topic"] for told in json.loads(kcat.run("-L", "-J"))["topics"]}


def test_it_reads_the_last_records_and_those_between_two_times(
    kcat: Kcat, make_topic: MakeTopic, confluent: Confluent
) -> None:
    topic = make_topic()
    confluent.produce(topic, [Sent(b"%d" % n, timestamp_ms=YEAR_2020_MS + n) for n in range(10)])
    assert kcat.run("-C", "-t", topic, "-o", "-3", "-e").split() == [b"7", b"8", b"9"]
    bounds = ("-o", f"s@{YEAR_2020_MS + 4}", "-o", f"e@{YEAR_2020_MS + 6}")
    assert kcat.run("-C", "-t", topic, *bounds).split() == [b"4", b"5"]
    assert kcat.run("-C", "-t", topic, "-o", "beginning", "-c", "2").split() == [b"0", b"1"]


def test_it_prints_all_that_it_knows_of_a_record(kcat: Kcat, make_topic: MakeTopic, confluent: Confluent) -> None:
    topic = make_topic()
    confluent.produce(topic, [Sent(None, b"key", (("a", b"1"), ("b", None)), timestamp_ms=YEAR_2020_MS)])
    form = "%t [%p] %o: %T %K %k %S %h"
    printed = kcat.run("-C", "-t", topic, "-o", "0", "-c", "1", "-f", form).decode()
    assert printed == f"{topic} [0] 0: {YEAR_2020_MS} 3 key -1 a=1,b=NULL"


def test_a_file_becomes_records(kcat: Kcat, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kcat.run("-P", "-t", topic, "-K", ":", given=b"a:1\nb:2\nc:3\n")
    found = kcat.read(topic, {0: 0}, 3)
    assert [(record.key, record.value) for record in found] == [(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]
