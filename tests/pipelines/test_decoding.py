"""Avro's schemas as types of Spark, and values that fit or do not. Columns: compat_tests/pipelines/test_archive.py."""

from __future__ import annotations

import datetime
import decimal
import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.decoding import avro_value, parsed_avro, schema_text, type_text

RECORD = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "sums", "type": {"type": "map", "values": "double"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "other", "type": "Kind"},
        {"name": "place", "type": {"type": "record", "name": "Place", "fields": [{"name": "x", "type": "float"}]}},
    ],
}
VALUE = {
    "id": 7,
    "note": None,
    "price": decimal.Decimal("12.50"),
    "at": datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.UTC),
    "day": datetime.date(2024, 5, 6),
    "clock": 1234,
    "tags": ["a", "b"],
    "sums": {"x": 1.5},
    "kind": "A",
    "other": "B",
    "place": {"x": 0.5},
}


def written(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


def test_a_schema_has_its_type() -> None:
    assert type_text(parsed_avro(json.dumps(RECORD)), {}) == (
        "struct<`id`:bigint,`note`:string,`price`:decimal(9,2),`at`:timestamp,`day`:date,`clock`:int,"
        "`tags`:array<string>,`sums`:map<string,double>,`kind`:string,`other`:string,`place`:struct<`x`:float>>"
    )


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ('"string"', "string"),
        ('{"type": "fixed", "name": "F", "size": 3}', "binary"),
        ('{"type": "string", "logicalType": "uuid"}', "string"),
        ('["null", {"type": "array", "items": "int"}]', "array<int>"),
    ],
)
def test_other_schemas_have_theirs(schema: str, text: str) -> None:
    assert type_text(parsed_avro(schema), {}) == text


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ('["int", "string"]', "the union"),
        ('{"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}', "contains itself"),
    ],
)
def test_what_spark_has_no_type_for_is_told(schema: str, why: str) -> None:
    with pytest.raises(PipelineFailed, match=why):
        type_text(parsed_avro(schema), {})


@pytest.mark.parametrize("schema", ["{", '"no-such-type"', "{}"])
def test_what_is_no_schema_is_told(schema: str) -> None:
    with pytest.raises(PipelineFailed, match="no schema of Avro"):
        parsed_avro(schema)


def test_a_value_is_decoded_whole_or_not_at_all() -> None:
    schema = parsed_avro(json.dumps(RECORD))
    data = written(RECORD | {"name": "Written"}, VALUE | {"clock": datetime.time(0, 0, 1, 234000)})
    assert avro_value(schema, data) == VALUE
    assert avro_value(schema, b"\0\0\0\0\1" + data, 5) == VALUE
    assert avro_value(schema, None) is None
    assert avro_value(schema, data + b"x") is None
    assert [length for length in range(len(data)) if avro_value(schema, data[:length]) is not None] == []


def test_a_schema_is_given_as_text_or_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schema"
    path.write_text("id long", encoding="utf-8")
    assert schema_text("id int") == "id int"
    assert schema_text(f"@{path}") == "id long"
    with pytest.raises(PipelineFailed, match="cannot be read"):
        schema_text(f"@{path}2")
