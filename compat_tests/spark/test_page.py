"""docs/spark.md says what is so: its Python is run as it stands, but for the address of the broker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compat_tests.clients.records import Sent
from compat_tests.spark.kafka_format import KafkaFormat

pytestmark = pytest.mark.jvm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
ADDRESS, CHECKPOINT = "localhost:9092", "checkpoints/counts"


def test_the_python_of_the_page_runs(kafka: KafkaFormat, capsys: pytest.CaptureFixture[str]) -> None:
    for topic in ("orders", "counts"):
        kafka.topic([], name=topic)
    fruits = [(b"alice", b"apples"), (b"carol", b"pears"), (b"alice", b"plums")]
    kafka.client.produce("orders", [Sent(value, key, (("at", b"shop"),)) for key, value in fruits])
    section = PAGE.read_text("utf-8").partition("\n## The format\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    code = "".join(blocks)
    assert ADDRESS in code
    assert CHECKPOINT in code
    names = {"spark": kafka.session}
    exec(code.replace(ADDRESS, kafka.bootstrap).replace(CHECKPOINT, kafka.checkpoint("counts")), names)
    assert re.search(r"\|\s*0\|\s*2\|\s*alice\|\s*plums\|", capsys.readouterr().out)
    found = {(one.key, one.value) for one in kafka.client.read("counts", {0: 0}, 2)}
    assert found == {(b"alice", b"2"), (b"carol", b"1")}
