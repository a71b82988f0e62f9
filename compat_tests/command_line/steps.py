"""The commands that are run on Ottla and on Apache Kafka, in this order, each with a name by which it is compared.

Everything that can be compared is fixed: names, keys, partitions, values. What differs by nature (ids, times, ports,
the words of an error) is replaced by `normalised`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

TOPIC = "orders"
OTHER = "numbers"
LETTERS = "".join(f"{letter}:{number}\n" for number, letter in enumerate("abcdefghijklmnopqrstuvwxyz")).encode()
HUNDRED = b"".join(b"%d\n" % number for number in range(100))
# As far as anything is from here: each record is younger than the one and older than the other.
LONG_AGO, FAR_OFF = "2001-01-01", "2999-01-01"


class Step(NamedTuple):
    """`until` is what its answer must hold before it counts: brokers hear of a change after their controller."""

    name: str
    words: tuple[str, ...]
    stdin: bytes = b""
    until: str = ""


def step(name: str, command: str, stdin: bytes = b"", until: str = "") -> Step:
    return Step(name, tuple(command.split()), stdin, until)


ALONE = (
    step("empty list", "topics list --json"),
    step("create", f"topics create {TOPIC} --partitions 3 --config retention.ms=-1"),
    step("create again", f"topics create {TOPIC}"),
    step("create if not there", f"topics create {TOPIC} --if-not-exists"),
    step("create two", f"topics create {OTHER} more --partitions 1"),
    step("create with a wrong key", "topics create wrong --config no.such.key=1"),
    step("create with a wrong value", "topics create wrong --config retention.ms=soon"),
    step("create with too many replicas", "topics create wrong --replication-factor 2"),
    step("create with a wrong name", "topics create wrong/name"),
    step("list", "topics list --json"),
    step("produce by key", f"produce {TOPIC} --key-separator : --header source=test --json", LETTERS),
    step("produce compressed", f"produce {OTHER} --compression zstd --json", HUNDRED),
    step("produce with one acknowledgement", f"produce {OTHER} --acks 1 --compression gzip --json", b"x\n"),
    step("produce with none", f"produce {OTHER} --acks 0 --json", b"y\n"),
    step("produce a tombstone", f"produce {TOPIC} --key a --null NULL --partition 0 --json", b"NULL\n"),
    step("produce too much", f"produce {TOPIC} --key a", b"x" * 1_100_000),
    step("produce nowhere", "produce nowhere", b"x\n"),
    step("describe", f"topics describe {TOPIC} --json"),
    step("consume all", f"consume {TOPIC} --json"),
    step("consume one partition", f"consume {TOPIC} --partition 2 --json"),
    step("consume by key", f"consume {TOPIC} --key e --json"),
    step("consume values", f"consume {OTHER}"),
    step("consume from an offset", f"consume {OTHER} --offset 98 --format {{offset}}={{value}}"),
    step("consume the end", f"consume {OTHER} --offset -3 --format {{offset}}={{value}}"),
    step("consume some", f"consume {OTHER} --grep ^.7$ --max-messages 5"),
    step("consume what is committed", f"consume {OTHER} --committed -n 1 --json"),
    step("consume since long ago", f"consume {OTHER} --since {LONG_AGO} -n 1 --json"),
    step("consume from the future", f"consume {OTHER} --since {FAR_OFF}"),
    step("consume until long ago", f"consume {OTHER} --until {LONG_AGO}"),
    step("consume until the future", f"consume {OTHER} --until {FAR_OFF}"),
    step("consume nowhere", "consume order"),
    step("grow", f"topics alter {TOPIC} --partitions 4"),
    step("shrink", f"topics alter {TOPIC} --partitions 2"),
    step("describe the grown", f"topics describe {TOPIC} --json"),
    step("configs", f"configs describe topic {TOPIC} --json"),
    step("configs of a group", "configs describe group some-group --json"),
    step("set", f"configs set topic {TOPIC} cleanup.policy=compact,delete segment.bytes=2000000"),
    step("set a wrong value", f"configs set topic {TOPIC} cleanup.policy=burn"),
    step("set an unknown key", f"configs set topic {TOPIC} no.such.key=1"),
    step("configs after set", f"configs describe topic {TOPIC} --json", until="2000000"),
    step("put back", f"configs delete topic {TOPIC} cleanup.policy segment.bytes"),
    step("configs after put back", f"configs describe topic {TOPIC} --json"),
    step("one default", f"configs describe topic {TOPIC} max.message.bytes --json"),
    step("set for all brokers", "configs set broker default log.cleaner.threads=1"),
    step("configs of all brokers", "configs describe broker default --json", until="log.cleaner.threads"),
    step("put back for all brokers", "configs delete broker default log.cleaner.threads"),
    step("one key of a broker", "configs describe broker 1 log.cleaner.threads num.network.threads --json"),
    step("configs of nobody", "configs describe topic order"),
    step("cluster", "cluster info --json"),
    step("cluster status", "cluster status --json"),
    step("cluster watch", f"cluster watch {TOPIC} {OTHER} --once --json"),
    step("cluster watch nowhere", "cluster watch order --once"),
    step("elect", f"cluster elect --topic {TOPIC}:0,1 --json"),
    step("elect all", "cluster elect --all --json"),
    step("elect unclean", f"cluster elect --topic {TOPIC}:0 --unclean --yes --json"),
    step("plan a move", f"cluster reassign --topics {TOPIC},{OTHER} --json"),
    step("plan a move to nobody", f"cluster reassign --topics {TOPIC} --brokers 7"),
    step("move", f"cluster reassign --topics {TOPIC} --brokers 1 --execute"),
    step("move, held back", f"cluster reassign --topics {TOPIC} --brokers 1 --execute --throttle 1000000"),
    step("cancel", "cluster reassign --cancel"),
    step("add a voter that is unknown", "cluster add-voter 2 --listener CONTROLLER://127.0.0.1:1"),
    step("remove a voter that is unknown", "cluster remove-voter 2"),
    step("unregister nobody", "cluster unregister 7 --yes"),
    step("no groups", "groups list --json"),
    step("plan", f"groups reset-offsets billing --topic {TOPIC} --to-earliest --json"),
    step("still no groups", "groups list --json"),
    step("reset to the end", f"groups reset-offsets billing --topic {TOPIC} --to-latest --execute --json"),
    step("one group", "groups list --json"),
    step("describe a group", "groups describe billing --json"),
    step("shift", "groups reset-offsets billing --all-topics --shift -2 --execute --json"),
    step("shift too far", "groups reset-offsets billing --all-topics --shift -999 --json"),
    step("reset to an offset", f"groups reset-offsets billing --topic {TOPIC}:0,1 --to-offset 3 --execute --json"),
    step("reset to a time", f"groups reset-offsets billing --topic {TOPIC} --to-time {LONG_AGO} --json"),
    step("reset to the future", f"groups reset-offsets billing --topic {TOPIC} --to-time {FAR_OFF} --json"),
    step("reset to what it was", f"groups reset-offsets billing --topic {TOPIC} --to-current --json"),
    step("watch", "groups watch billing --count 2 --interval 0.01 --json"),
    step("describe after resets", "groups describe billing --json"),
    step("describe nobody", "groups describe biling"),
    step("delete nobody", "groups delete biling --yes"),
)
WITH_A_MEMBER = (
    step("describe members", "groups describe {group} --json"),
    step("list members' group", "groups list --state stable --json"),
    step("delete with members", "groups delete {group} --yes"),
    step("reset with members", "groups reset-offsets {group} --all-topics --to-earliest --execute"),
)
AT_THE_END = (
    step("delete the group", "groups delete billing --yes"),
    step("delete it again", "groups delete billing --yes"),
    step("delete topics", f"topics delete {TOPIC} {OTHER} --yes"),
    step("delete them again", f"topics delete {TOPIC} --yes"),
    step("delete if there", f"topics delete {TOPIC} more --if-exists --yes"),
    step("empty list again", "topics list --json"),
)

_VARYING = {
    "topicId", "timestamp", "time", "port", "memberId", "highWatermark", "logEndOffset", "epoch", "coordinator"
}  # fmt: skip
_ERROR = re.compile(r"(ottla: [^\n]*?): [^\n]* \(([A-Z_]+)\)")


def normalised(value: Any) -> Any:
    """Rows without what differs by nature."""
    if isinstance(value, list):
        return [normalised(one) for one in value]
    if isinstance(value, dict):
        rows = {name: "varies" if name in _VARYING else normalised(one) for name, one in value.items()}
        if "features" in rows:
            # Levels that both can have; Kafka knows features that Ottla does not serve.
            both = ("kraft.version", "metadata.version")
            rows["features"] = [(one["name"], one["level"]) for one in rows["features"] if one["name"] in both]
        return rows
    return value


def normalised_error(text: str) -> str:
    """The thing and the code of an error, and our hint; a broker's own words go."""
    return _ERROR.sub(r"\1: ... (\2)", text)
