"""`ottla cluster`: the arguments and their help. What the commands do is in modules of their own."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json, natural, positive, positive_seconds

INTERVAL_SECONDS = 2.0


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    cluster_parser = commands.add_parser(
        "cluster",
        help="show and watch nodes and replicas, move partitions, elect leaders, change the quorum",
        description="The cluster itself.",
    )
    own_commands = cluster_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_info(own_commands)
    _add_status(own_commands)
    _add_watch(own_commands)
    _add_reassign(own_commands)
    _add_elect(own_commands)
    _add_voters(own_commands)
    _add_unregister(own_commands)


def _add_info(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "info",
        "cluster_info:info",
        summary="show nodes, controller, features and quorum",
        more="Show the cluster's id and nodes, its controller, the features that it runs with, and its quorum.",
        examples="ottla cluster info\nottla cluster info --json | jq .brokers",
    )
    add_json(parser, "one JSON object")


def _add_status(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "status",
        "cluster_status:status",
        summary="show whether all is well",
        more=(
            "Show brokers with what they lead and hold, the quorum, and each partition that has no leader or not all "
            "of its replicas in sync."
        ),
        examples="ottla cluster status\nottla cluster status --json | jq .badPartitions",
    )
    add_json(parser, "one JSON object")


def _add_watch(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "watch",
        "cluster_watch:watch",
        summary="show leaders, replicas and their lag live",
        more=(
            "Show who leads each partition, which replicas it is assigned to (AR), which are in sync (ISR) and which "
            "are not (OSR), what is committed (HW) and what each replica has (LEO), until Ctrl-C. On a terminal the "
            "table is drawn again in its place; elsewhere a line is written for every partition that changed."
        ),
        examples="ottla cluster watch\nottla cluster watch orders --interval 0.5\nottla cluster watch --once --json",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="only these topics")
    parser.add_argument(
        "--interval",
        type=positive_seconds,
        metavar="SECONDS",
        default=INTERVAL_SECONDS,
        help=f"time between two looks ({INTERVAL_SECONDS:g})",
    )
    how_often = parser.add_mutually_exclusive_group()
    how_often.add_argument("--count", type=positive, metavar="N", help="look so many times, then stop")
    how_often.add_argument("--once", action="store_true", help="one look, as a table")
    add_json(parser)


def _add_reassign(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "reassign",
        "cluster_reassign:reassign_partitions",
        summary="move partitions between brokers",
        more=(
            "Move replicas of partitions to other brokers. Shows what would happen; --execute does it, and waits until "
            "all replicas are in their places. The first replica of a partition is the one that is to lead."
        ),
        examples=(
            "ottla cluster reassign --topics orders --brokers 1,2,3\n"
            "ottla cluster reassign --topics orders --brokers 1,2,3 --json > plan.json\n"
            "ottla cluster reassign --file plan.json --execute\n"
            "ottla cluster reassign --file plan.json --verify\n"
            "ottla cluster reassign --cancel"
        ),
    )
    parser.add_argument("--file", metavar="PLAN.json", help="a plan, as Kafka's tool reads it")
    parser.add_argument("--topics", type=_names, metavar="TOPIC,...", help="make a plan for these topics")
    parser.add_argument(
        "--brokers", type=_ids, metavar="ID,...", help="over these brokers; all that serve if not given"
    )
    parser.add_argument("--replication-factor", type=positive, metavar="N", help="with so many replicas, not as before")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--execute", action="store_true", help="do it")
    what.add_argument("--verify", action="store_true", help="show how far a plan is; status 1 while it is not done")
    what.add_argument("--cancel", action="store_true", help="take back moves under way: those of the plan, or all")
    parser.add_argument("--no-wait", action="store_true", help="with --execute, return when the moves have begun")
    parser.add_argument(
        "--throttle",
        type=positive,
        metavar="BYTES",
        help="with --execute, move so many bytes a second at most, by broker",
    )
    parser.add_argument(
        "--preserve-throttles", action="store_true", help="with --verify, leave throttles when nothing is under way"
    )
    add_json(parser)


def _add_elect(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "elect",
        "cluster_elect:elect",
        summary="let preferred replicas lead again",
        more=(
            "Let the first replica of each partition lead, where it is in sync. With --unclean any replica may lead a "
            "partition that has no leader: what only the others have is lost."
        ),
        examples="ottla cluster elect --all\nottla cluster elect --topic orders:0,2",
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--topic", metavar="TOPIC[:P,P]", action="append", help="a topic, or some of its partitions; may be repeated"
    )
    which.add_argument("--all", action="store_true", help="all partitions")
    parser.add_argument("--unclean", action="store_true", help="elect a replica that is not in sync")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_json(parser)


def _add_voters(commands: Commands[argparse.ArgumentParser]) -> None:
    add = add_command(
        commands,
        "add-voter",
        "cluster_voters:add_voter",
        summary="let a controller vote",
        more="Make a controller that follows the quorum one of its voters (KIP-853).",
        examples="ottla cluster add-voter 4 --listener CONTROLLER://four:9093",
    )
    remove = add_command(
        commands,
        "remove-voter",
        "cluster_voters:remove_voter",
        summary="let a controller vote no more",
        more="Take a controller out of the quorum (KIP-853); it goes on to follow it as long as it runs.",
        examples="ottla cluster remove-voter 4",
    )
    add.add_argument("--listener", metavar="NAME://HOST:PORT", required=True, help="where controllers reach it")
    for parser in (add, remove):
        parser.add_argument("node", metavar="NODE", type=natural, help="its node.id")
        parser.add_argument("--directory-id", metavar="ID", help="its metadata log's directory; found if not given")


def _add_unregister(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "unregister",
        "cluster_voters:unregister",
        summary="forget a broker that does not come back",
        more="Forget a broker that does not come back. One that runs is not counted on until it is started again.",
        examples="ottla cluster unregister 4 --yes",
    )
    parser.add_argument("node", metavar="NODE", type=natural, help="its node.id")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of topics")
    return names


def _ids(text: str) -> list[int]:
    ids = [natural(one.strip()) for one in text.split(",")]
    if len(set(ids)) < len(ids):
        raise argparse.ArgumentTypeError(f"{text!r} names a broker twice")
    return ids
