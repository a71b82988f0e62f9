"""`ottla topics`: the arguments and their help. What the commands do is in topic_commands.py, loaded when one runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json, positive, setting

_TOPIC = "the name of a topic"


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    topics_parser = commands.add_parser(
        "topics", help="list, describe, create, grow and delete topics", description="Topics of a cluster."
    )
    own_commands = topics_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_list(own_commands)
    _add_describe(own_commands)
    _add_create(own_commands)
    _add_alter(own_commands)
    _add_delete(own_commands)


def _add_list(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "list",
        "topic_commands:list_topics",
        summary="name all topics",
        more="Name all topics, with the number of their partitions and replicas.",
        examples="ottla topics list\nottla topics list --json | jq -r .name",
    )
    parser.add_argument("--internal", action="store_true", help="those that Kafka keeps for itself as well")
    add_json(parser)


def _add_describe(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "describe",
        "topic_commands:describe_topics",
        summary="show leaders, replicas and offsets",
        more="Show the partitions of topics: leader, replicas, in-sync replicas, first and next offset; what is set.",
        examples="ottla topics describe orders",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help=_TOPIC)
    add_json(parser, "one JSON object per topic")


def _add_create(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "create",
        "topic_commands:create_topics",
        summary="make topics",
        more="Make topics, and wait until they can be used.",
        examples="ottla topics create orders --partitions 3 --config cleanup.policy=compact",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help=_TOPIC)
    parser.add_argument("--partitions", type=positive, metavar="N", help="how many (the broker's num.partitions)")
    parser.add_argument(
        "--replication-factor", type=positive, metavar="N", help="copies of each (the broker's default)"
    )
    parser.add_argument("--config", type=setting, metavar="KEY=VALUE", action="append", default=[], help="set a key")
    parser.add_argument("--if-not-exists", action="store_true", help="leave a topic that exists as it is")


def _add_alter(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "alter",
        "topic_commands:alter_topic",
        summary="add partitions to a topic",
        more="Add partitions to a topic. Keys will go to other partitions than before. For settings: `ottla configs`.",
        examples="ottla topics alter orders --partitions 6",
    )
    parser.add_argument("topic", metavar="TOPIC", help=_TOPIC)
    parser.add_argument("--partitions", type=positive, metavar="N", required=True, help="how many it is to have in all")


def _add_delete(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "delete",
        "topic_commands:delete_topics",
        summary="remove topics with all their records",
        more="Remove topics with all their records. Asks first on a terminal.",
        examples="ottla topics delete orders --yes",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help=_TOPIC)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--if-exists", action="store_true", help="a topic that is not there is no error")
