"""Our declarations say what Kafka's definitions say: every message, field, type, version range, tag and default.

Requests, responses, headers and control records are compared with Kafka 4.4, what only brokers store with Kafka 4.3.
Each kind of difference is also shown to be found, on a sample.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from ottla.wire.catalog import messages
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import BLANK, Message, Request, Struct, StructType, Uuid, field, int16, int32, uint16
from tests import jvm
from tests.wire.definitions import differences, facts_of_declaration, facts_of_definition, is_live, structs

REMOVED = ("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown")


def kafka_definitions() -> dict[str, dict[str, Any]]:
    """Everything that Kafka defines; where both sets define a message, the newer one counts."""
    return jvm.kafka_stored_definitions() | jvm.kafka_clients_definitions()


@pytest.mark.jvm
def test_every_message_that_kafka_defines_is_declared_and_no_other() -> None:
    live = {name for name, definition in kafka_definitions().items() if is_live(definition)}
    assert live == set(messages())
    assert len(live) == 272


@pytest.mark.jvm
def test_what_kafka_removed_is_absent() -> None:
    gone = {name for name, definition in kafka_definitions().items() if not is_live(definition)}
    assert gone == {name + kind for name in REMOVED for kind in ("Request", "Response")}
    assert not gone & set(messages())


@pytest.mark.jvm
def test_no_declaration_differs_from_its_definition() -> None:
    definitions = kafka_definitions()
    compared = {
        name: differences(facts_of_definition(definitions[name]), facts_of_declaration(message))
        for name, message in messages().items()
    }
    assert [difference for found in compared.values() for difference in found] == []
    assert len(compared) == 272


@pytest.mark.jvm
def test_the_comparison_is_of_thousands_of_facts() -> None:
    definitions = kafka_definitions()
    facts = [fact for name in messages() for fact in facts_of_definition(definitions[name])]
    assert sum(aspect == "type" for _, aspect in facts) > 2000


def test_attributes_are_named_after_kafkas_fields() -> None:
    every_struct: list[StructType] = [*messages().values()]
    every_struct += [struct for message in messages().values() for struct in structs(message)]
    wrong = [
        f"{struct.__qualname__}.{declared.name} is {declared.json_name} in JSON"
        for struct in every_struct
        for declared in struct.fields
        if declared.name.replace("_", "") != declared.json_name.lower()
    ]
    assert wrong == []


# -- the comparison can fail ------------------------------------------------------------------------------------------


class SampleRequest(Request, api_key=12, served_on=("broker", "controller"), versions="1-4", flexible="3+"):
    class Part(Struct):
        port: uint16
        directory_id: Uuid = field("2+", default=ZERO_UUID, ignorable=True)

    class Shared(Struct):
        word: str

    name: str | None = field(flexible="none")
    limit: int32 = field("2-3", default=-1)
    parts: list[Part]
    shared: list[Shared] | None = field("2+", default=None)
    error_code: int16 = field("3+", default=0, tag=0, tagged="3+")
    state: Shared = field("3+", default=BLANK, tag=1, tagged="3+")
    loud: bool = True


def sample() -> dict[str, Any]:
    """The definition that SampleRequest declares."""
    fields = [
        {"name": "Name", "type": "string", "versions": "0+", "nullableVersions": "0+", "flexibleVersions": "none"},
        {"name": "Limit", "type": "int32", "versions": "2-3", "default": "-1"},
        {
            "name": "Parts",
            "type": "[]Part",
            "versions": "0+",
            "fields": [
                {"name": "Port", "type": "uint16", "versions": "0+"},
                {"name": "DirectoryId", "type": "uuid", "versions": "2+", "ignorable": True},
            ],
        },
        {"name": "Shared", "type": "[]Shared", "versions": "2+", "nullableVersions": "2+", "default": "null"},
        {"name": "ErrorCode", "type": "int16", "taggedVersions": "3+", "tag": 0, "default": 0},
        {"name": "State", "type": "Shared", "versions": "3+", "taggedVersions": "3+", "tag": 1, "default": None},
        {"name": "Loud", "type": "bool", "versions": "0+", "default": "true"},
    ]
    return {
        "apiKey": 12,
        "type": "request",
        "listeners": ["controller", "broker"],
        "name": "SampleRequest",
        "validVersions": "1-4",
        "flexibleVersions": "3+",
        "fields": fields,
        "commonStructs": [
            {"name": "Shared", "versions": "0+", "fields": [{"name": "Word", "type": "string", "versions": "0+"}]}
        ],
    }


def compared(definition: dict[str, Any], message: type[Message] = SampleRequest) -> set[tuple[str, str]]:
    found = differences(facts_of_definition(definition), facts_of_declaration(message))
    return {(difference.path, difference.aspect) for difference in found}


def test_the_sample_is_as_defined() -> None:
    assert compared(sample()) == set()


def at(*path: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    """An edit of the definition: what stands at the path becomes the value."""

    def edit(definition: dict[str, Any]) -> None:
        holder: Any = definition
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = value

    return edit


NAME, LIMIT, PARTS, SHARED, ERROR_CODE, STATE, LOUD = (("fields", index) for index in range(7))

ALTERED = {
    "key": (at("apiKey", value=13), ("SampleRequest", "key")),
    "kind": (at("type", value="metadata"), ("SampleRequest", "kind")),
    "valid versions": (at("validVersions", value="1-5"), ("SampleRequest", "versions")),
    "flexible versions": (at("flexibleVersions", value="2+"), ("SampleRequest", "flexible")),
    "listeners": (at("listeners", value=["broker"]), ("SampleRequest", "served_on")),
    "stability": (at("latestVersionUnstable", value=True), ("SampleRequest", "unstable")),
    "a struct's name": (at(*PARTS, "type", value="[]Piece"), ("SampleRequest", "structs")),
    "a field's name": (at(*LIMIT, "name", value="Bound"), ("SampleRequest.bound", "type")),
    "the order of fields": (lambda d: d["fields"].reverse(), ("SampleRequest", "order")),
    "a field we lack": (
        lambda d: d["fields"].append({"name": "More", "type": "bool", "versions": "4+"}),
        ("SampleRequest.more", "type"),
    ),
    "a field Kafka lacks": (lambda d: d["fields"].pop(), ("SampleRequest.loud", "type")),
    "type": (at(*LIMIT, "type", value="int64"), ("SampleRequest.limit", "type")),
    "array or not": (at(*STATE, "type", value="[]Shared"), ("SampleRequest.state", "type")),
    "versions": (at(*LIMIT, "versions", value="2+"), ("SampleRequest.limit", "versions")),
    "nullability": (at(*NAME, "nullableVersions", value="2+"), ("SampleRequest.name", "nullable")),
    "a field's flexible versions": (at(*NAME, "flexibleVersions", value="0+"), ("SampleRequest.name", "flexible")),
    "tag": (at(*ERROR_CODE, "tag", value=2), ("SampleRequest.errorCode", "tag")),
    "tagged versions": (at(*STATE, "taggedVersions", value="4+"), ("SampleRequest.state", "tagged")),
    "default number": (at(*LIMIT, "default", value="0x7f"), ("SampleRequest.limit", "default")),
    "default null": (at(*SHARED, "default", value=None), ("SampleRequest.shared", "default")),
    "default bool": (at(*LOUD, "default", value="false"), ("SampleRequest.loud", "default")),
    "default string": (at(*NAME, "default", value="x"), ("SampleRequest.name", "default")),
    "default struct": (at(*STATE, "default", value="null"), ("SampleRequest.state", "default")),
    "ignorable": (at(*LIMIT, "ignorable", value=True), ("SampleRequest.limit", "ignorable")),
    "a nested field": (
        at(*PARTS, "fields", 1, "ignorable", value=False),
        ("SampleRequest.parts.directoryId", "ignorable"),
    ),
    "a shared struct's field": (
        at("commonStructs", 0, "fields", 0, "type", value="bytes"),
        ("SampleRequest.shared.word", "type"),
    ),
    "a shared struct's versions": (
        at("commonStructs", 0, "versions", value="3+"),
        ("SampleRequest.shared.word", "versions"),
    ),
}


@pytest.mark.parametrize(("edit", "found"), ALTERED.values(), ids=ALTERED.keys())
def test_a_difference_is_found_in(edit: Callable[[dict[str, Any]], None], found: tuple[str, str]) -> None:
    definition = copy.deepcopy(sample())
    edit(definition)
    assert found in compared(definition)


def test_a_range_beyond_the_enclosing_one_says_nothing() -> None:
    definition = sample()
    definition["fields"][6]["versions"] = "1-4"
    definition["fields"].append({"name": "Gone", "type": "bool", "versions": "0"})
    assert compared(definition) == set()
