"""`ottla cluster reassign`: show a plan, carry it out, look how far it is, take it back.

A plan comes from a file, in the JSON of Kafka's tool, or is made for some topics and brokers. Without --execute nothing
is changed. Where partitions were before is printed when they begin to move: it is the plan that takes them back.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from ottla.client.blocking import Client
from ottla.client.cluster import Cluster
from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import Move, moves, reassign
from ottla.client.topic_admin import describe_topics
from ottla.commands import EXIT_FAILED, EXIT_OK, CommandFailed, UsageError
from ottla.commands.asking import asking
from ottla.commands.cluster_info import ask
from ottla.commands.cluster_plan import Plan, new_plan, parse_plan, plan_json
from ottla.commands.cluster_rows import ids_text, partition_rows
from ottla.commands.cluster_throttle import REMAINS, release, throttle
from ottla.commands.hints import not_there
from ottla.commands.terminal import Column, Progress, Row, Terminal, show
from ottla.commands.text_form import compact_json, count_text
from ottla.commands.topic_commands import existing
from ottla.wire.errors import ErrorCode, KafkaError

LOOK_SECONDS = 0.5
DONE, MOVING, ELSEWHERE, UNCHANGED = "done", "moving", "elsewhere", "unchanged"

COLUMNS = (
    Column("TOPIC", lambda row: str(row["topic"])),
    Column("PARTITION", lambda row: str(row["partition"]), is_number=True),
    Column("REPLICAS", lambda row: ids_text(row["replicas"])),
    Column("TARGET", lambda row: ids_text(row["target"])),
    Column("STATE", lambda row: str(row["state"]), is_remarkable=lambda row: row["state"] not in (DONE, UNCHANGED)),
)


def reassign_partitions(parsed: argparse.Namespace) -> int:
    _check_words(parsed)
    terminal = Terminal(sys.stdout)
    with asking(parsed) as client:
        if parsed.cancel:
            return _cancel(client, None if parsed.file is None else _read(parsed.file))
        plan = _read(parsed.file) if parsed.file is not None else _made(client, parsed)
        if parsed.verify:
            return _verify(client, terminal, plan, parsed)
        if not parsed.execute:
            return _propose(client, terminal, plan, as_json=parsed.json)
        _begin(client, plan, parsed.throttle)
        if not parsed.no_wait:
            _wait(client, plan, Progress(sys.stderr, "replicas in place", len(plan)), time.sleep)
            sys.stderr.write(f"{count_text(len(plan), 'partition')} moved\n")
            if parsed.throttle is not None:
                _release(client, plan)
                sys.stderr.write("the throttle is gone\n")
    return EXIT_OK


def _check_words(parsed: argparse.Namespace) -> None:
    if parsed.file is not None and (parsed.topics or parsed.brokers or parsed.replication_factor):
        raise UsageError("--file has the whole plan: --topics, --brokers and --replication-factor are for a new one")
    if parsed.file is None and not parsed.cancel and not parsed.topics:
        raise UsageError("say what is to move: --file PLAN.json, or --topics with --brokers")
    if parsed.file is None and parsed.verify:
        raise UsageError("--verify needs the plan that was carried out: --file PLAN.json")
    if parsed.throttle is not None and not parsed.execute:
        raise UsageError("--throttle is for moves that begin now: it needs --execute")


def _read(path: str) -> Plan:
    try:
        with open(path, encoding="utf-8") as file:
            return parse_plan(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _made(client: Client, parsed: argparse.Namespace) -> Plan:
    """A new plan for topics, over the brokers that are named or all that serve."""
    known = {one["id"]: one["rack"] for one in client.call(ask)["brokers"] if not one["isFenced"]}
    wanted = parsed.brokers or list(known)
    for broker in wanted:
        if broker not in known:
            raise not_there("broker", str(broker), map(str, known))
    return new_plan(
        _current(client, parsed.topics), {broker: known[broker] for broker in wanted}, parsed.replication_factor
    )


def _current(client: Client, topics: Sequence[str]) -> Plan:
    rows = partition_rows(existing(client, topics))
    return {TopicPartition(row["topic"], row["partition"]): row["assigned"] for row in rows}


def _state(client: Client, plan: Plan) -> tuple[Plan, dict[TopicPartition, Move]]:
    """Where partitions are and which of them are on the move; the moves first, so that an end is not missed."""
    moving = client.call(moves)
    current = _current(client, sorted({place.topic for place in plan}))
    for place in plan:
        if place not in current:
            raise CommandFailed(f"there is no partition {place}; `ottla topics describe` shows how many there are")
    return current, moving


def rows_of(plan: Plan, current: Plan, moving: Mapping[TopicPartition, Move]) -> list[Row]:
    """A partition is done when its target is what it has, and nothing is under way."""
    rows = []
    for place, target in sorted(plan.items()):
        if place in moving:
            is_ours = [one for one in moving[place].replicas if one not in moving[place].removing] == target
            state = MOVING if is_ours else ELSEWHERE
        else:
            state = DONE if current[place] == target else ELSEWHERE
        row = {"topic": place.topic, "partition": place.partition, "replicas": current[place]}
        rows.append({**row, "target": target, "state": state})
    return rows


def _verify(client: Client, terminal: Terminal, plan: Plan, parsed: argparse.Namespace) -> int:
    """Where everything is. When nothing is under way any more, throttles are not needed, as Kafka's tool has it."""
    current, moving = _state(client, plan)
    rows = rows_of(plan, current, moving)
    show(terminal, COLUMNS, rows, as_json=parsed.json)
    if not parsed.preserve_throttles and not plan.keys() & moving.keys():
        _release(client, plan)
    return EXIT_OK if all(row["state"] == DONE for row in rows) else EXIT_FAILED


def _release(client: Client, plan: Plan) -> None:
    """Kafka's tool takes the rates from all brokers: it does not know which of them had a part in it."""
    release(client, plan, [one["id"] for one in client.call(ask)["brokers"] if not one["isFenced"]])


def _propose(client: Client, terminal: Terminal, plan: Plan, *, as_json: bool) -> int:
    if as_json:
        terminal.line(compact_json(plan_json(plan)))
        return EXIT_OK
    rows = rows_of(plan, *_state(client, plan))
    show(
        terminal,
        COLUMNS,
        [{**row, "state": UNCHANGED if row["state"] == DONE else "to move"} for row in rows],
        as_json=False,
    )
    sys.stderr.write("nothing was changed; --execute does it, --json prints the plan for --file\n")
    return EXIT_OK


def _begin(client: Client, plan: Plan, bytes_per_second: int | None) -> None:
    current, _ = _state(client, plan)
    before = {place: current[place] for place in plan}
    sys.stderr.write(f"the plan that takes this back: {compact_json(plan_json(before))}\n")
    if bytes_per_second is not None:
        throttle(client, plan, before, bytes_per_second)
        sys.stderr.write(f"held back to {bytes_per_second:,} bytes/s a broker; {REMAINS}\n")
    client.call(reassign, plan)


def _wait(client: Client, plan: Plan, progress: Progress, pause: Callable[[float], None]) -> None:
    """Look until nothing of the plan is under way, and a broker shows it so."""
    try:
        while left := [place for place in client.call(moves) if place in plan]:
            progress.reached(len(plan) - len(left))
            pause(LOOK_SECONDS)
    finally:
        progress.erase()
    try:
        client.call(_shown, plan)
    except KafkaError as error:
        raise CommandFailed(error.message) from error


async def _shown(cluster: Cluster, plan: Plan) -> None:
    """Brokers hear of what the controller has done one after the other; what somebody else has changed stays so."""
    names = sorted({place.topic for place in plan})

    async def attempt() -> None:
        for row in partition_rows(await describe_topics(cluster, names)):
            place = TopicPartition(row["topic"], row["partition"])
            if row["assigned"] != plan.get(place, row["assigned"]):
                reason = (
                    f"{place} is on {ids_text(row['assigned'])}, not on {ids_text(plan[place])}: was it taken back?"
                )
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, reason)

    await cluster.retried(attempt, "the plan")


def _cancel(client: Client, plan: Plan | None) -> int:
    moving = client.call(moves)
    places = [place for place in moving if plan is None or place in plan]
    if places:
        client.call(reassign, dict.fromkeys(places))
    sys.stderr.write(f"{count_text(len(places), 'move')} taken back\n")
    return EXIT_OK
