"""`ottla consume`: the arguments and their help. What the command does is in consume_records.py."""

from __future__ import annotations

import argparse

from ottla.commands.asking import Commands, add_command, natural, positive


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    parser = add_command(
        commands,
        "consume",
        "consume_records:consume",
        summary="read records of a topic",
        more=(
            "Read a topic from its beginning to where it ends now; with --follow what comes from now on. In a pipe the "
            "values are written as they are, one per line; on a terminal with their places and keys, and nothing in "
            "them can harm it. TIME is ISO 8601, milliseconds since 1970, -10m, '2 hours ago' or now."
        ),
        examples=(
            "ottla consume orders\n"
            "ottla consume orders --follow --grep 'error|fail'\n"
            "ottla consume orders --key alice --since -1h --json\n"
            "ottla consume orders --partition 0 --offset -10\n"
            "ottla consume orders --format '{time} {key} {value}'"
        ),
    )
    parser.add_argument("topic", metavar="TOPIC", help="the name of a topic")
    _add_range(parser)
    chosen = parser.add_argument_group("which records")
    which = chosen.add_mutually_exclusive_group()
    which.add_argument("--partition", type=natural, metavar="N", action="append", help="only this; may be repeated")
    which.add_argument("--key", metavar="KEY", help="only those with this key; reads only the partition of the key")
    chosen.add_argument("--grep", metavar="REGEX", help="only those whose value matches")
    chosen.add_argument("-n", "--max-messages", type=positive, metavar="N", help="so many, and no more")
    chosen.add_argument("--committed", action="store_true", help="nothing of transactions that are open or aborted")
    form = parser.add_argument_group("form").add_mutually_exclusive_group()
    form.add_argument(
        "--format",
        metavar="TEXT",
        help="with {topic} {partition} {offset} {timestamp} {time} {key} {value} {headers}, \\n, \\t; a line each",
    )
    form.add_argument("--json", action="store_true", help="print one JSON object per record")


def _add_range(parser: argparse.ArgumentParser) -> None:
    bounds = parser.add_argument_group("from where to where")
    start = bounds.add_mutually_exclusive_group()
    start.add_argument(
        "--from-beginning", action="store_true", help="from the first record (the default, but with --follow)"
    )
    start.add_argument("--offset", type=int, metavar="N", help="from this offset; -N: from N before the end")
    start.add_argument("--since", metavar="TIME", help="from the first record not before this time")
    end = bounds.add_mutually_exclusive_group()
    end.add_argument("--until", metavar="TIME", help="up to the first record not before this time, in each partition")
    end.add_argument("-f", "--follow", action="store_true", help="wait for more at the end, until Ctrl-C")
