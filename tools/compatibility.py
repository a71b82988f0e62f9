"""Write docs/compatibility.md: which APIs the broker serves, which clients ran, what messages were compared with.

`python -m tools.compatibility` writes the page. It is computed from the declarations and from the functions that the
tests themselves ask what to compare, so it cannot claim more than they do; a test keeps the file current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path

from compat_tests.client_matrix import kafka_version, python_versions, tested_clients
from ottla.server.handlers.every_route import ROUTES
from ottla.server.routes import Route, Versions
from ottla.wire.catalog import messages
from ottla.wire.schema import Message, Request, Response
from tests.wire.referees import (
    SECOND_OPINION_VALUES_PER_VERSION,
    SECOND_OPINIONS,
    VALUES_PER_VERSION,
    every_version,
    is_known_to_clients,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "compatibility.md"

INTRODUCTION = """\
# Compatibility

Written by `tools/compatibility.py`; do not edit.

## What a broker serves

From the route table, which ApiVersions and dispatch go by as well. {served} of the {keys} APIs of Kafka {clients} have
a handler. Versions that Kafka has and this table has not are answered with UNSUPPORTED_VERSION.

{routes}
## Clients that were run against it

Each runs its stories on Ottla and on Apache Kafka {brokers} in the gate, with the same outcome; `docs/clients.md` says
what members of groups do. Kafka Streams and Kafka Connect are run in `compat_tests/java_applications`, Spark in
`compat_tests/spark`.

{tested_clients}
## What the codecs were compared with

Every message below is declared in `ottla/wire/messages/` or `ottla/wire/stored/`. {messages} messages have
{versions} message-versions, and each of these was compared; the tests that do so run in the gate and skip nothing.

**Definitions.** `tests/wire/test_declarations.py` reads the definitions inside Kafka's own jars and finds every
message, struct, field, type, version range, tag, nullability and default equal: requests, responses, headers and
control records with kafka-clients {clients}, what only brokers store with Kafka {brokers}.

**Bytes, with Kafka's Java classes.** `tests/wire/test_byte_equality.py` draws {values} values for each message and
version: defaults, nulls, least and greatest numbers, strings of 32767 bytes, arrays of up to 320 elements, chance, and
unknown tagged fields where the version is flexible. Our JSON read by Kafka gives our bytes, Kafka writes our bytes
again unchanged and shows them as the same JSON, and Kafka's bytes come back unchanged from here.

**Bytes, a second opinion.** `tests/wire/test_second_opinion.py` has kio {kio} and kafka-python {kafka_python} read and
write again {second_values} values for each version that they know: {kio_versions} message-versions in kio,
{kafka_python_versions} in kafka-python. kio is asked about error codes that exist and times that a calendar has, since
it refuses others; kafka-python about ApiVersions responses without an error, since it reads others as version 0.

In the tables, `=` means that all our versions were compared, a range that those were, and `-` that the codec does not
know the message. "Kafka" names the release whose classes judged all of them.
"""

SERVED_HEAD = """\
| API | served versions | of |
|---|---|---|
"""

CLIENTS_HEAD = """\
| client | version | records, topics, configs | groups |
|---|---|---|---|
"""

HEAD = """\
| message | versions | Kafka | kio | kafka-python |
|---|---|---|---|---|
"""


def page() -> str:
    declared = list(messages().values())
    sections = [introduction(declared), "\n## Requests and responses, by API key\n\n", HEAD]
    calls = [message for message in declared if issubclass(message, Request | Response)]
    calls.sort(key=lambda message: (message.api_key, message.__name__))
    sections += [row(message, f"{message.api_key} {message.__name__}") for message in calls]
    others = [message for message in declared if not issubclass(message, Request | Response)]
    for module, group in groupby(others, key=lambda message: message.__module__):
        sections += [f"\n## {title(module)}\n\n", HEAD, *(row(message, message.__name__) for message in group)]
    return "".join(sections)


def introduction(declared: list[type[Message]]) -> str:
    kio_versions, kafka_python_versions = (
        sum(len(referee.versions(message)) for message in declared) for referee in SECOND_OPINIONS
    )
    return INTRODUCTION.format(
        messages=len(declared),
        versions=sum(len(every_version(message)) for message in declared),
        clients=kafka_release(in_clients=True),
        brokers=kafka_release(in_clients=False),
        values=VALUES_PER_VERSION,
        second_values=SECOND_OPINION_VALUES_PER_VERSION,
        kio=pinned("kio"),
        kafka_python=pinned("kafka-python"),
        kio_versions=kio_versions,
        kafka_python_versions=kafka_python_versions,
        served=len(ROUTES),
        keys=len({message.api_key for message in declared if issubclass(message, Request)}),
        routes=SERVED_HEAD + "".join(served_row(route) for route in sorted(ROUTES, key=lambda route: route.key)),
        tested_clients=CLIENTS_HEAD + "".join(f"| {' | '.join(client)} |\n" for client in tested_clients()),
    )


def served_row(route: Route) -> str:
    name = route.request.__name__.removesuffix("Request")
    return f"| {int(route.key)} {name} | {range_text(route.versions)} | {route.request.versions} |\n"


def range_text(versions: Versions) -> str:
    return str(versions.low) if versions.low == versions.high else f"{versions.low}-{versions.high}"


def title(module: str) -> str:
    """The first sentence of the module that declares the messages."""
    return (import_module(module).__doc__ or "").partition("\n")[0].rstrip(".")


def row(message: type[Message], label: str) -> str:
    release = kafka_release(in_clients=is_known_to_clients(message))
    opinions = [cell(referee.versions(message), every_version(message)) for referee in SECOND_OPINIONS]
    return f"| {label} | {message.versions} | {release} | {' | '.join(opinions)} |\n"


def cell(known: list[int], declared: Iterable[int]) -> str:
    if not known:
        return "-"
    return "=" if known == list(declared) else ", ".join(ranges(known))


def ranges(versions: list[int]) -> Iterator[str]:
    """Rising numbers as Kafka writes ranges: 0, 1, 2, 5 are 0-2 and 5."""
    for _, pairs in groupby(enumerate(versions), key=lambda pair: pair[1] - pair[0]):
        run = [version for _, version in pairs]
        yield str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"


def kafka_release(*, in_clients: bool) -> str:
    return kafka_version("kafka-clients" if in_clients else "kafka")


def pinned(distribution: str) -> str:
    return python_versions()[distribution]


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
