"""Other codecs that know Kafka's messages: which of them knows which message at which version, and how to ask it.

Kafka's own Java classes judge every message; kio and kafka-python are a second opinion where they know the message.
The tests compare with exactly what is said here, and docs/compatibility.md is written from the same functions.
"""

from __future__ import annotations

import functools
import io
import warnings
from collections.abc import Mapping
from importlib import import_module
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any, Protocol

from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer

from ottla.wire.schema import Message

VALUES_PER_VERSION = 50
SECOND_OPINION_VALUES_PER_VERSION = 10

# Kafka defines these among the messages of its clients, though we keep them with what is stored.
SHARED_WITH_CLIENTS = ("aborted_transactions", "consumer_protocol", "control_records", "principals")


def every_version(message: type[Message]) -> range:
    return range(message.versions.low, message.versions.high + 1)


def is_known_to_clients(message: type[Message]) -> bool:
    """Whether kafka-clients holds the message; what it does not hold, a broker's jars do."""
    _, _, package, module = message.__module__.split(".")
    return package == "messages" or module in SHARED_WITH_CLIENTS


class Referee(Protocol):
    """A codec that can be asked to read bytes and to write them again.

    One that is `strict` refuses values that Kafka would carry: it is asked about tame ones only.
    """

    name: str
    strict: bool

    def versions(self, message: type[Message]) -> list[int]:
        """The versions of ours that it knows."""
        ...

    def recode(self, message: type[Message], version: int, data: bytes) -> bytes: ...


class Kio:
    """A class per message and version; values are checked as they are read and written."""

    name = "kio"
    strict = True  # error codes are an enumeration, 64-bit times are datetime and timedelta

    def versions(self, message: type[Message]) -> list[int]:
        return [version for version in every_version(message) if (message.__name__, version) in _kio_paths()]

    def recode(self, message: type[Message], version: int, data: bytes) -> bytes:
        entity: Any = resolve_name(_kio_paths()[message.__name__, version])
        value, size = entity_reader(entity)(data, 0)
        assert size == len(data), f"kio left {len(data) - size} bytes"
        out = io.BytesIO()
        entity_writer(entity)(out, value)
        return out.getvalue()


@functools.cache
def _kio_paths() -> Mapping[tuple[str, int], str]:
    """Where kio keeps the class of a message and version."""
    return MappingProxyType(
        {
            (path.partition(":")[2], version): path
            for versions in schema_name_map.values()
            for version, types in versions.items()
            for path in types.values()
        }
    )


KAFKA_PYTHON_FAMILIES = ("admin", "consumer", "metadata", "producer", "sasl")


class KafkaPython:
    """A class per message, with the versions that brokers before 4.0 had as well; requests and responses only."""

    name = "kafka-python"
    strict = False

    def versions(self, message: type[Message]) -> list[int]:
        known = _kafka_python_classes().get(message.__name__)
        return [] if known is None else [version for version in every_version(message) if version <= known.max_version]

    def recode(self, message: type[Message], version: int, data: bytes) -> bytes:
        value = _kafka_python_classes()[message.__name__].decode(data, version=version)
        value._header = None  # decoding leaves it unset, and encoding asks for it
        return bytes(value.encode(version=version))


@functools.cache
def _kafka_python_classes() -> Mapping[str, Any]:
    """Every request and response that kafka-python declares. Importing it warns, and warnings are errors in a test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        modules = [import_module(f"kafka.protocol.{family}") for family in KAFKA_PYTHON_FAMILIES]
        parent = import_module("kafka.protocol.api_message").ApiMessage
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return MappingProxyType({known.__name__: known for known in declared if parent in known.__bases__})


SECOND_OPINIONS: tuple[Referee, ...] = (Kio(), KafkaPython())
