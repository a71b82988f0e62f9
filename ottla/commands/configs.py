"""`ottla configs`: the arguments and their help. What the commands do is in config_commands.py."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json, setting

KINDS = ("topic", "broker", "group", "client-metrics", "broker-logger")


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    configs_parser = commands.add_parser(
        "configs",
        help="show and change what is configured",
        description="What topics, brokers and groups are configured to, and why.",
    )
    own_commands = configs_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    describe = add_command(
        own_commands,
        "describe",
        "config_commands:describe",
        summary="show values and where they come from",
        more="Show what somebody has set, and who; with --all what nobody has, too. Secrets are not shown.",
        examples="ottla configs describe topic orders\nottla configs describe broker 1 --all\n"
        "ottla configs describe broker default",
    )
    _add_resource(describe)
    describe.add_argument("keys", metavar="KEY", nargs="*", help="only these, whoever has set them")
    describe.add_argument("--all", action="store_true", help="values that are Kafka's defaults as well")
    add_json(describe)
    change = add_command(
        own_commands,
        "set",
        "config_commands:set_values",
        summary="set values",
        more="Set values. All are set, or none.",
        examples="ottla configs set topic orders retention.ms=86400000 cleanup.policy=compact,delete",
    )
    _add_resource(change)
    change.add_argument("settings", metavar="KEY=VALUE", type=setting, nargs="+", help="what to set")
    delete = add_command(
        own_commands,
        "delete",
        "config_commands:delete_values",
        summary="put values back to their defaults",
        more="Forget what was set: what holds without it holds again.",
        examples="ottla configs delete topic orders retention.ms",
    )
    _add_resource(delete)
    delete.add_argument("keys", metavar="KEY", nargs="+", help="what to forget")


def _add_resource(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=f"one of {', '.join(KINDS)}")
    parser.add_argument("name", metavar="NAME", help="its name or id; `default` stands for all brokers")
