"""Values decoded by a schema: a column `decoded` beside `value`, null where a value does not fit.

JSON is Spark's own `from_json`. Avro is fastavro in Python's workers: it comes with `ottla[spark]`, whereas Spark's
`from_avro` needs one more jar that fits its version; the price is a call of Python for each record.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ottla.pipelines import PipelineFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

CONFLUENT_PREFIX_BYTES = 5
CORRUPT = "_not_json"
KEPT_LOGICAL_TYPES = ("date", "decimal", "timestamp-micros", "timestamp-millis")
PRIMITIVES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
    "null": "void",
}


def schema_text(told: str) -> str:
    """A schema as it was given: the text itself, or @FILE."""
    if not told.startswith("@"):
        return told
    try:
        return Path(told[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineFailed(f"--schema: {told[1:]} cannot be read: {error}") from error


def decoded(frame: DataFrame, kind: str, schema: str, *, is_confluent: bool = False) -> DataFrame:
    """With a column `decoded`."""
    return with_json(frame, schema) if kind == "json" else with_avro(frame, schema, is_confluent=is_confluent)


def with_json(frame: DataFrame, ddl: str) -> DataFrame:
    from pyspark.sql import functions
    from pyspark.sql.types import StringType, StructType

    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType), "that is what fromDDL makes"
    told = StructType([*schema.fields]).add(CORRUPT, StringType())
    parsed = functions.from_json(
        functions.col("value").cast("string"), told, {"columnNameOfCorruptRecord": CORRUPT, "mode": "PERMISSIVE"}
    )
    fits = functions.col(f"{CORRUPT}.{CORRUPT}").isNull() & functions.col(CORRUPT).isNotNull()
    kept = functions.struct(*(functions.col(f"{CORRUPT}.`{name}`").alias(name) for name in schema.names))
    return frame.withColumn(CORRUPT, parsed).withColumn("decoded", functions.when(fits, kept)).drop(CORRUPT)


def with_avro(frame: DataFrame, schema: str, *, is_confluent: bool) -> DataFrame:
    from pyspark.sql import functions

    parsed = parsed_avro(schema)
    skipped = CONFLUENT_PREFIX_BYTES if is_confluent else 0

    def decode(value: bytearray | None) -> Any:
        return avro_value(parsed, value, skipped)

    return frame.withColumn("decoded", functions.udf(decode, spark_type(parsed))("value"))


def parsed_avro(text: str) -> Any:
    """A schema that fastavro has understood, less the logical types for which Spark has no type."""
    from fastavro.schema import SchemaParseException, UnknownType, parse_schema

    try:
        return parse_schema(without_unknown_logical_types(json.loads(text)))
    except (ValueError, SchemaParseException, UnknownType, KeyError, TypeError) as error:
        raise PipelineFailed(f"--schema is no schema of Avro: {error}") from error


def without_unknown_logical_types(schema: Any) -> Any:
    """Times of day and UUIDs stay the numbers and strings that they are made of."""
    if isinstance(schema, list):
        return [without_unknown_logical_types(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "logicalType" or value in KEPT_LOGICAL_TYPES}
    for key in ("type", "items", "values", "fields"):
        if key in kept:
            kept[key] = without_unknown_logical_types(kept[key])
    return kept


def avro_value(schema: Any, value: bytes | bytearray | None, skipped: int = 0) -> Any:
    """What a value means; None where it is none of this schema, or where something is left over."""
    from fastavro import schemaless_reader

    if value is None:
        return None
    stream = io.BytesIO(value)
    stream.seek(skipped)
    try:
        found = schemaless_reader(stream, schema, None)
    except (EOFError, ValueError, IndexError, OverflowError, MemoryError, TypeError, KeyError):
        return None
    return found if stream.tell() == len(value) else None


def spark_type(schema: Any) -> DataType:
    """The type of Spark for a schema of Avro; PipelineFailed where there is none."""
    from pyspark.sql.types import _parse_datatype_string

    return _parse_datatype_string(type_text(schema, {}))


def type_text(schema: Any, named: dict[str, str | None]) -> str:
    """The same as text, such as `struct<id:bigint>`. `named` has those met before; None for one that is not closed."""
    if isinstance(schema, list):
        choices = [one for one in schema if one != "null"]
        if len(choices) != 1:
            raise PipelineFailed(f"--schema: Spark has no type for the union {json.dumps(schema)}")
        return type_text(choices[0], named)
    if isinstance(schema, str):
        if schema in PRIMITIVES:
            return PRIMITIVES[schema]
        if named.get(schema) is None:
            raise PipelineFailed(f"--schema: Spark has no type for {schema}, which contains itself")
        return str(named[schema])
    logical = schema.get("logicalType")
    if logical == "decimal":
        return f"decimal({schema['precision']},{schema.get('scale', 0)})"
    if logical is not None:
        return "date" if logical == "date" else "timestamp"
    return complex_text(schema, named)


def complex_text(schema: Mapping[str, Any], named: dict[str, str | None]) -> str:
    kind = schema["type"]
    if kind == "array":
        return f"array<{type_text(schema['items'], named)}>"
    if kind == "map":
        return f"map<string,{type_text(schema['values'], named)}>"
    if kind == "record":
        named[schema["name"]] = None
        fields = ",".join(f"`{one['name']}`:{type_text(one['type'], named)}" for one in schema["fields"])
        text = f"struct<{fields}>"
    else:
        text = type_text(kind, named)
    if "name" in schema:
        named[schema["name"]] = text
    return text
