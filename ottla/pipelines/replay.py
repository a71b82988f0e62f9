"""`ottla pipeline replay`: the arguments and their help. What it does is in replay_run.py, loaded when it runs."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands
from ottla.pipelines.copying_arguments import add_target
from ottla.pipelines.running import add_pipeline


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_pipeline(
        commands,
        "replay",
        "replay_run:replay",
        summary="write an archive back to topics",
        more="Write the records of an archive back to topics, each exactly once, with keys, headers, timestamps, "
        "partitions and order. Run it again to go on: where it is, it finds in the target.",
        examples="ottla pipeline replay --input archive\n"
        "ottla pipeline replay orders --input hdfs:///archive --rename orders=orders-again",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="*", help="topics of the archive (all)")
    parser.add_argument(
        "-i", "--input", metavar="DIRECTORY", required=True, help="what `archive` wrote; any URL of Hadoop"
    )
    add_target(parser)
