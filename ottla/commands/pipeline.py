"""`ottla pipeline NAME`: the data pipelines on Spark. Each is a module of `ottla.pipelines` that adds its own parser.

Loading one for its help loads neither PySpark nor Java; what a pipeline does is loaded when it runs.
"""

from __future__ import annotations

import argparse
from importlib import import_module

from ottla.commands.asking import Commands

# Each is a module of `ottla.pipelines`, which adds the parser of the pipeline that it is named after.
NAMES = ("archive", "mirror", "replay", "stats", "verify")


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    pipeline_parser = commands.add_parser(
        "pipeline",
        help="run a data pipeline on Spark",
        description="Data pipelines on Spark: here by default, on a cluster of Spark's with --master.",
    )
    own_commands = pipeline_parser.add_subparsers(title="pipelines", metavar="NAME", required=True)
    for name in NAMES:
        import_module(f"ottla.pipelines.{name}").add_parser(own_commands)
