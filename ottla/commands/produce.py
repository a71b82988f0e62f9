"""`ottla produce`: the arguments and their help. What the command does is in produce_lines.py."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, add_json, natural, setting

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "produce",
        "produce_lines:produce",
        summary="write lines to a topic",
        more=(
            "Write each line of standard input to a topic, as a record. Records with a key go to the partition to "
            "which Kafka's Java client would send them; those without one stay together in batches. What was read is "
            "sent at once, so that it can stand behind `tail -f`."
        ),
        examples=(
            "seq 1000 | ottla produce numbers\n"
            "echo 'alice:42' | ottla produce scores --key-separator :\n"
            "ottla produce events --header source=shell --compression zstd < events.jsonl"
        ),
    )
    parser.add_argument("topic", metavar="TOPIC", help="the name of a topic that exists")
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--key-separator", metavar="TEXT", help="what stands between key and value in every line")
    keys.add_argument("--key", metavar="KEY", help="the key of every record")
    parser.add_argument(
        "--header", type=setting, metavar="KEY=VALUE", action="append", default=[], help="a header of every record"
    )
    parser.add_argument("--partition", type=natural, metavar="N", help="where all records go")
    parser.add_argument("--null", metavar="TEXT", help="a line or value that stands for no value: a tombstone")
    parser.add_argument("--compression", choices=CODECS, default="none", help="of each batch (none)")
    parser.add_argument(
        "--acks", choices=tuple(ACKS), default="all", help="whose word to wait for (all in-sync replicas)"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing at the end")
    add_json(parser, "one JSON object per partition at the end: how many records, and their offsets")
