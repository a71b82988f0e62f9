"""`ottla cluster`: the arguments and their help. What the command does is in cluster_info.py."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    cluster_parser = commands.add_parser(
        "cluster", help="show nodes, controller, features and quorum", description="The cluster itself."
    )
    own_commands = cluster_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    info = add_command(
        own_commands,
        "info",
        "cluster_info:info",
        summary="show nodes, controller, features and quorum",
        more="Show the cluster's id and nodes, its controller, the features that it runs with, and its quorum.",
        examples="ottla cluster info\nottla cluster info --json | jq .brokers",
    )
    add_json(info, "one JSON object")
