"""Write docs/configuration.md: every key, from its declaration.

`python -m tools.configuration` writes the page. Nothing about a key is said here; a test keeps the file current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ottla.config.broker import BrokerConfig
from ottla.config.declared.client_metrics import ClientMetricsKeys
from ottla.config.declared.group import GroupConfigKeys
from ottla.config.declared.own import OwnKeys
from ottla.config.declared.topic import TopicConfigKeys
from ottla.config.keys import REQUIRED, Key, KeySet
from ottla.config.values import DOUBLE_MAX, INT_MAX, LONG_MAX, ConfigType
from tools.effective_keys import KEY_SETS, effective

PAGE = Path(__file__).resolve().parent.parent / "docs" / "configuration.md"

INTRODUCTION = """\
# Configuration

Written by `tools/configuration.py`; do not edit.

A node takes a `server.properties` as Apache Kafka 4.3 does: the same keys, defaults and limits, {broker} for a broker,
{topic} for a topic, {group} for a group and {client_metrics} for a telemetry subscription. They are declared in
`ottla/config/declared/`, and `tests/config/test_against_kafka.py` compares each with Kafka's own classes. {own} keys
are Ottla's own.

Every key is known, checked and described. {idle} of them say that they have *no effect*: nothing in the package reads
them, because their feature is not here yet or needs no such knob.

**Setting a key.** In the file, or on the command line as `--KEY VALUE` or `--KEY=VALUE`, which comes before the file.
A key that nobody knows is a warning; a wrong value is an error that says what is allowed. While a node runs, keys are
changed with `kafka-configs.sh` or any admin client: `per-broker` keys for one broker, `cluster-wide` ones for one or
for all. What is set for a broker comes before what is set for the cluster, that before the file, and that before the
default; what is set for a topic or group comes before all of them.

**One listener.** `listener.name.NAME.KEY` sets a key of TLS or SASL for one listener only, with its name in lower case,
and `listener.name.NAME.MECHANISM.KEY` for one SASL mechanism of it.

**With nothing set** a node is a cluster of its own. Where Kafka would refuse to start, or would lose data:

| key | Kafka | Ottla, where it is not set |
|---|---|---|
| `node.id` | required | 1 |
| `process.roles` | required | `broker,controller` |
| `controller.listener.names` | required | `CONTROLLER` |
| `listeners` | `PLAINTEXT://:9092` | the same, and `CONTROLLER://127.0.0.1:0` for a broker that is a controller too |
| `controller.quorum.voters` or `.bootstrap.servers` | one is required | a controller without is a quorum of its own |
| `log.dirs` | a temporary directory | `node-ID` in the directory `ottla` of `$XDG_DATA_HOME` or `~/.local/share` |
| replication factor and `min.isr` of internal topics | 3 and 2 | the same, but at most as many as brokers are alive |

**Java.** Classes cannot be loaded here. Keys that name one are kept and shown; where Kafka's own class is meant, it is
known by its name.
"""

HEAD = """\
| key | type | default | allowed | changes | |
|---|---|---|---|---|---|
"""

LARGEST = {LONG_MAX: "2^63 - 1", INT_MAX: "2^31 - 1", DOUBLE_MAX: "the largest double"}


def page() -> str:
    sections = [introduction()]
    for area in (area for area in BrokerConfig.__bases__ if area is not OwnKeys):
        sections += section(area)
    for area in (OwnKeys, TopicConfigKeys, GroupConfigKeys, ClientMetricsKeys):
        sections += section(area)
    return "".join(sections)


def introduction() -> str:
    own = len(OwnKeys.keys)
    return INTRODUCTION.format(
        broker=len(BrokerConfig.keys) - own,
        topic=len(TopicConfigKeys.keys),
        group=len(GroupConfigKeys.keys),
        client_metrics=len(ClientMetricsKeys.keys),
        own=own,
        idle=sum(name not in effective() for keys in KEY_SETS for name in keys.keys),
    )


def section(area: type[KeySet]) -> Iterable[str]:
    title = (area.__doc__ or "").rstrip(".")
    return [f"\n## {title}\n\n", HEAD, *(row(key, area) for key in area.keys.values())]


def row(key: Key[Any], area: type[KeySet]) -> str:
    is_broker = issubclass(BrokerConfig, area)
    changes = key.update.value if is_broker else "at any time"
    allowed = "" if key.check is None else key.check.wants
    kind = "class" if key.config_type is ConfigType.CLASS else key.config_type.name.lower()
    return f"| `{key.name}` | {kind} | {default(key)} | {cell(allowed)} | {changes} | {cell(doc(key))} |\n"


def default(key: Key[Any]) -> str:
    if key.default is REQUIRED:
        return "see above"
    if key.default is None:
        return "not set"
    if not isinstance(key.default, bool) and key.default in LARGEST:
        return LARGEST[key.default]
    return f"`{cell(key.default_text or '')}`" if key.default_text else "empty"


def doc(key: Key[Any]) -> str:
    notes = [key.doc] if key.name in effective() else [key.doc, "*No effect.*"]
    if key.synonyms:
        notes.append("Where it is not set: " + ", ".join(f"`{synonym}`" for synonym in key.synonyms) + ".")
    return " ".join(notes)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(PAGE.parent.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
