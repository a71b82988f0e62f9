"""`ottla groups`: the arguments and their help. What the commands do is in modules of their own."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json, natural, positive, positive_seconds

INTERVAL_SECONDS = 2.0
_GROUP = "the id of a group"


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    groups_parser = commands.add_parser(
        "groups", help="list, describe, watch, reset and delete consumer groups", description="Consumer groups."
    )
    own_commands = groups_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_list(own_commands)
    _add_describe(own_commands)
    _add_delete(own_commands)
    _add_reset(own_commands)
    _add_watch(own_commands)


def _add_list(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "list",
        "group_commands:list_all",
        summary="name all groups",
        more="Name all groups of the cluster, with type and state.",
        examples="ottla groups list\nottla groups list --state stable",
    )
    parser.add_argument("--state", metavar="STATE", help="only those in this state, such as Stable or Empty")
    parser.add_argument("--type", metavar="TYPE", help="only those of this type: classic, consumer, share, streams")
    add_json(parser)


def _add_describe(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "describe",
        "group_commands:describe",
        summary="show members, offsets and lag",
        more="Show the members of groups, what they have committed, and how far they are behind.",
        examples="ottla groups describe billing\nottla groups describe billing --members",
    )
    parser.add_argument("groups", metavar="GROUP", nargs="+", help=_GROUP)
    parser.add_argument("--members", action="store_true", help="a table of the members instead of the partitions")
    add_json(parser, "one JSON object per group")


def _add_delete(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "delete",
        "group_commands:delete",
        summary="remove groups with their offsets",
        more="Remove groups that have no members, with all that they committed. Asks first on a terminal.",
        examples="ottla groups delete billing --yes",
    )
    parser.add_argument("groups", metavar="GROUP", nargs="+", help=_GROUP)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _add_reset(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "reset-offsets",
        "group_reset:reset_offsets",
        summary="say where a group goes on",
        more=(
            "Commit other offsets for a group that has no members. Shows what would happen; --execute does it. What "
            "would lie outside of a log is put to its nearest end."
        ),
        examples=(
            "ottla groups reset-offsets billing --topic orders --to-earliest\n"
            "ottla groups reset-offsets billing --topic orders:0,2 --to-time -1h --execute\n"
            "ottla groups reset-offsets billing --all-topics --shift -100 --execute"
        ),
    )
    parser.add_argument("group", metavar="GROUP", help=_GROUP)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--topic", metavar="TOPIC[:P,P]", action="append", help="a topic, or some of its partitions; may be repeated"
    )
    which.add_argument("--all-topics", action="store_true", help="all that the group has committed offsets of")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="to the beginning of each log")
    where.add_argument("--to-latest", action="store_true", help="to the end of each log")
    where.add_argument("--to-current", action="store_true", help="to what is committed, or else the end")
    where.add_argument("--to-offset", type=natural, metavar="N", help="to this offset")
    where.add_argument("--to-time", metavar="TIME", help="to the first record not before this (ISO 8601, -10m, ...)")
    where.add_argument("--shift", type=int, metavar="N", help="so many records on, or back if it is negative")
    parser.add_argument("--execute", action="store_true", help="do it")
    add_json(parser)


def _add_watch(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "watch",
        "group_watch:watch",
        summary="show the lag of a group live",
        more=(
            "Show what a group has committed and how far it is behind, until Ctrl-C. On a terminal the table is drawn "
            "again in its place; elsewhere a line is written for every partition that changed."
        ),
        examples="ottla groups watch billing\nottla groups watch billing --json --interval 10 >> lag.jsonl",
    )
    parser.add_argument("group", metavar="GROUP", help=_GROUP)
    parser.add_argument(
        "--interval",
        type=positive_seconds,
        metavar="SECONDS",
        default=INTERVAL_SECONDS,
        help=f"time between two looks ({INTERVAL_SECONDS:g})",
    )
    parser.add_argument("--count", type=positive, metavar="N", help="look so many times, then stop")
    add_json(parser)
