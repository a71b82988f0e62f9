"""Kafka's message definitions and our declarations as facts in one flat form, so that two dicts can be compared.

A fact is (path, aspect) -> value: ("FetchRequest.topics.partitions.fetchOffset", "type") -> "int64". Paths follow the
fields by Kafka's JSON names, from the message down; version ranges are effective, that is cut to the versions in which
the enclosing field exists, since a wider range says nothing. It reads definitions that were parsed already, and knows
no jars and no bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ottla.wire.layout import Array, Fixed, Nested, Type, Variable, resolve, zero
from ottla.wire.messages.headers import RequestHeader, ResponseHeader
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import (
    BLANK,
    NO_VERSIONS,
    REQUIRED,
    Field,
    Message,
    Request,
    Response,
    StoredRecord,
    StructType,
    Versions,
)

Definition = Mapping[str, Any]
Facts = dict[tuple[str, str], Any]
Fact = tuple[tuple[str, str], Any]

# How we write the types that Kafka spells otherwise.
TYPE_NAMES = {"string": "str", "uuid": "Uuid", "records": "Records"}
IMPLICIT_DEFAULTS = {"bool": False, "float64": 0.0, "str": "", "bytes": b"", "Uuid": ZERO_UUID, "Records": None}
STORED_KINDS = {"data", "metadata", "coordinator-key", "coordinator-value"}


class Difference(NamedTuple):
    """What Kafka says and what we say about one thing; ABSENT is silence."""

    path: str
    aspect: str
    kafka: Any
    ours: Any


ABSENT = "absent"


def differences(kafka: Facts, ours: Facts) -> list[Difference]:
    """Everything that only one side says, or that they say differently; a type counts, so 0 is not False."""
    found = []
    for key in sorted(kafka.keys() | ours.keys()):
        theirs, mine = kafka.get(key, ABSENT), ours.get(key, ABSENT)
        if (type(theirs), theirs) != (type(mine), mine):
            found.append(Difference(*key, theirs, mine))
    return found


# -- what Kafka defines -----------------------------------------------------------------------------------------------


def is_live(definition: Definition) -> bool:
    """Kafka keeps the names of what it removed, without versions."""
    return bool(definition["validVersions"] != "none")


def facts_of_definition(definition: Definition) -> Facts:
    name = definition["name"]
    valid = Versions.parse(definition["validVersions"])
    kind = definition["type"]
    facts: Facts = {
        (name, "kind"): "stored" if kind in STORED_KINDS else kind,
        (name, "versions"): str(valid),
        (name, "flexible"): str(Versions.parse(definition["flexibleVersions"]) & valid),
        (name, "key"): definition.get("apiKey"),
    }
    if kind == "request":
        facts[name, "served_on"] = tuple(sorted(definition["listeners"]))
        facts[name, "unstable"] = definition.get("latestVersionUnstable", False)
    shared = {struct["name"]: struct for struct in definition.get("commonStructs", ())}
    facts[name, "structs"] = tuple(sorted({*shared, *_inline_structs(definition["fields"], shared)}))
    facts |= _defined_fields(name, definition["fields"], shared, valid)
    return facts


def _inline_structs(fields: list[Definition], shared: Mapping[str, Definition]) -> Iterator[str]:
    for defined in (*fields, *(inner for struct in shared.values() for inner in struct["fields"])):
        if "fields" in defined:
            yield defined["type"].removeprefix("[]")
            yield from _inline_structs(defined["fields"], {})


def _defined_fields(
    path: str, fields: list[Definition], shared: Mapping[str, Definition], enclosing: Versions
) -> Iterator[Fact]:
    order = []
    for defined in fields:
        name = defined["name"][0].lower() + defined["name"][1:]
        tagged = Versions.parse(defined.get("taggedVersions", "none"))
        # A field that is only ever tagged need not say when it exists.
        versions = Versions.parse(defined["versions"]) & enclosing if "versions" in defined else tagged & enclosing
        if versions == NO_VERSIONS:
            continue
        order.append(name)
        at = f"{path}.{name}"
        type_name = _type_name(defined["type"])
        yield (at, "type"), type_name
        yield (at, "default"), _defined_default(defined, type_name)
        yield from _ranges(
            at,
            versions,
            enclosing,
            nullable=Versions.parse(defined.get("nullableVersions", "none")),
            tagged=tagged,
            flexible=Versions.parse(defined["flexibleVersions"]) if "flexibleVersions" in defined else None,
            tag=defined.get("tag"),
            ignorable=defined.get("ignorable", False),
        )
        struct = shared.get(type_name.removeprefix("[]"))
        if struct is not None:
            yield from _defined_fields(at, struct["fields"], shared, versions & Versions.parse(struct["versions"]))
        elif "fields" in defined:
            yield from _defined_fields(at, defined["fields"], shared, versions)
    yield (path, "order"), tuple(order)


def _type_name(kafka: str) -> str:
    array, name = "[]" if kafka.startswith("[]") else "", kafka.removeprefix("[]")
    return array + TYPE_NAMES.get(name, name)


def _defined_default(defined: Definition, type_name: str) -> Any:
    """The value Kafka's generated class starts with: JSON's own null says nothing, the text "null" says null."""
    said = defined.get("default")
    if said == "null":
        return None
    is_number = type_name.removeprefix("u").startswith("int")
    if said is None or said == "":
        if type_name.startswith("[]"):
            return "[]"
        return 0 if is_number else IMPLICIT_DEFAULTS.get(type_name, "BLANK")
    if is_number:
        return int(str(said), 0)
    if type_name == "bool":
        return str(said).lower() == "true"
    assert type_name == "str", f"a default for {type_name} was never seen: {said!r}"
    return said


def _ranges(
    at: str,
    versions: Versions,
    enclosing: Versions,
    *,
    nullable: Versions,
    tagged: Versions,
    flexible: Versions | None,
    tag: int | None,
    ignorable: bool,
) -> Iterator[Fact]:
    """The facts that are ranges, or that hold only in some: both sides come through here."""
    yield (at, "versions"), str(versions)
    yield (at, "nullable"), str(nullable & versions)
    yield (at, "tagged"), str(tagged & versions)
    yield (at, "tag"), tag if tagged & versions != NO_VERSIONS else None
    yield (at, "flexible"), None if flexible is None else str(flexible & versions)
    if versions != enclosing:
        yield (at, "ignorable"), ignorable


# -- what we declare --------------------------------------------------------------------------------------------------


def facts_of_declaration(message: type[Message]) -> Facts:
    name = message.__name__
    facts: Facts = {
        (name, "kind"): _kind(message),
        (name, "versions"): str(message.versions),
        (name, "flexible"): str(message.flexible & message.versions),
        (name, "key"): _key(message),
        (name, "structs"): tuple(sorted(struct.__name__ for struct in structs(message))),
    }
    if issubclass(message, Request):
        facts[name, "served_on"] = tuple(sorted(message.served_on))
        facts[name, "unstable"] = message.unstable
    facts |= _declared_fields(name, message, message, message.versions)
    return facts


def structs(message: type[Message]) -> list[StructType]:
    """The structs nested in a message, used or not."""
    return [member for member in vars(message).values() if type(member) is StructType]


def _kind(message: type[Message]) -> str:
    if message in (RequestHeader, ResponseHeader):
        return "header"
    kinds: dict[type[Message], str] = {Request: "request", Response: "response", StoredRecord: "stored"}
    return next((kind for parent, kind in kinds.items() if issubclass(message, parent)), "unknown")


def _key(message: type[Message]) -> int | None:
    if issubclass(message, StoredRecord):
        return message.type_id
    return message.api_key if issubclass(message, Request | Response) else None


def _declared_fields(path: str, struct: StructType, message: type[Message], enclosing: Versions) -> Iterator[Fact]:
    order = []
    for declared in struct.fields:
        versions = declared.versions & enclosing
        if versions == NO_VERSIONS:
            continue
        order.append(declared.json_name)
        at = f"{path}.{declared.json_name}"
        of = resolve(declared.annotation, message)
        yield (at, "type"), _written_type(of)
        yield (at, "default"), _declared_default(declared, of)
        yield from _ranges(
            at,
            versions,
            enclosing,
            nullable=declared.nullable,
            tagged=declared.tagged,
            flexible=declared.flexible,
            tag=declared.tag,
            ignorable=declared.ignorable,
        )
        element = of.element if isinstance(of, Array) else of
        if isinstance(element, Nested):
            yield from _declared_fields(at, element.struct, message, versions)
    yield (path, "order"), tuple(order)


def _written_type(of: Type) -> str:
    match of:
        case Array():
            return "[]" + _written_type(of.element)
        case Nested():
            return of.struct.__name__
        case Fixed() | Variable():
            return of.name


def _declared_default(declared: Field, of: Type) -> Any:
    value = zero(of) if declared.default is REQUIRED else declared.default
    if value is BLANK:
        return "BLANK"
    return "[]" if value == [] else value
