"""docs/spark.md says what is so: its Python is run as it stands, but for where the broker is and what it keeps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from compat_tests.clients.records import Sent
from compat_tests.side_by_side import Side
from compat_tests.spark.kafka_format import KafkaFormat, rows

pytestmark = pytest.mark.jvm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
ADDRESS, CHECKPOINT, DIRECTORY = "localhost:9092", "checkpoints/counts", "/var/lib/ottla"


def python_of(section: str) -> str:
    text = PAGE.read_text("utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return "".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def test_the_python_of_the_page_runs(kafka: KafkaFormat, broker: Side, capsys: pytest.CaptureFixture[str]) -> None:
    for topic in ("orders", "counts"):
        kafka.topic([], name=topic)
    fruits = [(b"alice", b"apples"), (b"carol", b"pears"), (b"alice", b"plums")]
    kafka.client.produce("orders", [Sent(value, key, (("at", b"shop"),)) for key, value in fruits])
    code = python_of("The format")
    assert ADDRESS in code
    assert CHECKPOINT in code
    names: dict[str, Any] = {"spark": kafka.session}
    exec(code.replace(ADDRESS, kafka.bootstrap).replace(CHECKPOINT, kafka.checkpoint("counts")), names)
    assert re.search(r"\|\s*0\|\s*2\|\s*alice\|\s*plums\|", capsys.readouterr().out)
    found = {(one.key, one.value) for one in kafka.client.read("counts", {0: 0}, 2)}
    assert found == {(b"alice", b"2"), (b"carol", b"1")}
    code = python_of("ottla-segments")
    assert DIRECTORY in code
    exec(code.replace(DIRECTORY, str(broker.log_dir)), names)
    assert [row.value for row in rows(names["orders"])] == ["apples", "pears", "plums"]
