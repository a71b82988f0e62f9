"""`ottla spark`: what Spark needs to use the `kafka` format. The arguments, and the few lines that each command is.

Where jars come from is in ottla/pipelines/connector.py, and what a session is configured by in session.py beside it.
"""

from __future__ import annotations

import argparse
import json
import sys

from ottla.commands import EXIT_OK, CommandFailed
from ottla.commands.asking import Commands, add_json

FORMS = ("python", "submit", "conf", "json")
FETCHERS = ("maven", "spark")


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    spark_parser = commands.add_parser(
        "spark", help="what Spark needs to use a broker", description="Spark's kafka format: its jars, its options."
    )
    own_commands = spark_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    jars = own_commands.add_parser(
        "jars",
        help="fetch the connector's jars and list them",
        description="Fetch the jars of Spark's Kafka connector that fit the Spark that is installed, keep them below "
        "~/.cache/ottla, and print their paths, one per line. $OTTLA_SPARK_JARS names others.",
        epilog='example: spark-submit --jars "$(ottla spark jars | paste -sd,)" job.py',
        allow_abbrev=False,
    )
    jars.add_argument(
        "--fetcher", choices=FETCHERS, help="what fetches: Maven where it is installed, else Spark's own resolver"
    )
    add_json(jars, "one JSON object")
    jars.set_defaults(command=list_jars)
    session = own_commands.add_parser(
        "session",
        help="print the options of a session, to paste",
        description="Print the options of a Spark session that can use the kafka format.",
        epilog="example: ottla spark session --form submit",
        allow_abbrev=False,
    )
    session.add_argument("--form", choices=FORMS, default=FORMS[0], help=f"in which form ({FORMS[0]})")
    session.add_argument("--master", metavar="URL", default="local[*]", help="where Spark runs (local[*])")
    session.set_defaults(command=show_session)


def list_jars(parsed: argparse.Namespace) -> int:
    from ottla.pipelines import PipelineFailed
    from ottla.pipelines.connector import connector_jars, installed_spark

    try:
        spark = installed_spark()
        jars = connector_jars(fetcher=parsed.fetcher)
    except PipelineFailed as error:
        raise CommandFailed(str(error)) from error
    if parsed.json:
        told = {"spark": spark.version, "scala": spark.scala_version, "coordinates": spark.coordinates}
        sys.stdout.write(json.dumps(told | {"jars": [str(jar) for jar in jars]}) + "\n")
    else:
        sys.stdout.writelines(f"{jar}\n" for jar in jars)
    return EXIT_OK


def show_session(parsed: argparse.Namespace) -> int:
    from ottla.pipelines import PipelineFailed
    from ottla.pipelines.connector import connector_jars
    from ottla.pipelines.session import session_options

    try:
        options = session_options(connector_jars(), parsed.master)
    except PipelineFailed as error:
        raise CommandFailed(str(error)) from error
    sys.stdout.write(written(options, parsed.master, parsed.form))
    return EXIT_OK


def written(options: dict[str, str], master: str, form: str) -> str:
    """The options as code, as arguments of spark-submit, as lines of spark-defaults.conf, or as JSON."""
    if form == "json":
        return json.dumps({"spark.master": master} | options, indent=2) + "\n"
    if form == "conf":
        return "".join(f"{key} {value}\n" for key, value in {"spark.master": master, **options}.items())
    if form == "submit":
        from shlex import quote

        words = [f"--master {quote(master)}", *(f"--conf {quote(f'{key}={value}')}" for key, value in options.items())]
        return " \\\n  ".join(words) + "\n"
    lines = [
        "from pyspark.sql import SparkSession\n",
        "spark = (",
        f"    SparkSession.builder.master({json.dumps(master)})",
        *(f"    .config({json.dumps(key)}, {json.dumps(value)})" for key, value in options.items()),
        "    .getOrCreate()",
        ")",
        'orders = spark.read.format("kafka").option("kafka.bootstrap.servers", "localhost:9092")'
        '.option("subscribe", "orders").load()',
    ]
    return "\n".join(lines) + "\n"
