"""`ottla serve`: a broker in this process, until it is told to stop.

With nothing set it is one node that is broker and controller. What is set comes from a properties file and from
`--KEY VALUE` words, which win. SIGTERM and SIGINT stop it cleanly; a second one stops it at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from ottla.server.node import Node

COLLECT_AFTER = 20_000

EPILOG = """\
examples:
  ottla serve                                         a broker on port 9092, data below the user's data directory
  ottla serve --ephemeral --listeners PLAINTEXT://127.0.0.1:0
  ottla serve --config server.properties --log.dirs /var/lib/ottla

Any key of Kafka's configuration can be given as --KEY VALUE; docs/configuration.md lists them.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "serve",
        help="start a broker",
        description="Start a broker, and serve until SIGTERM or SIGINT.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", metavar="FILE", help="a server.properties file")
    parser.add_argument(
        "--ephemeral", action="store_true", help="keep everything in a temporary directory that is removed at exit"
    )
    parser.set_defaults(command=serve, takes_settings=True)


def serve(parsed: argparse.Namespace) -> int:
    with ExitStack() as stack:
        settings = read_settings(parsed.config, parsed.settings)
        if parsed.ephemeral or settings.get("ottla.ephemeral") == "true":
            import tempfile  # slow, and few start so

            settings["log.dirs"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="ottla-"))
        return run(settings)


def read_settings(path: str | None, words: Sequence[str]) -> dict[str, str]:
    """What was set, in the file and in words; the words win."""
    from ottla.config.properties import merged, parse_arguments, parse_properties
    from ottla.config.values import ConfigError

    try:
        in_file: Mapping[str, str] = {}
        if path is not None:
            with open(path, "rb") as file:
                in_file = parse_properties(file.read(), path)
        return merged(in_file, parse_arguments(words))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ConfigError as error:
        raise UsageError(str(error)) from error


def run(settings: Mapping[str, str]) -> int:
    import trio

    from ottla.cluster.metadata_log import MetadataLogError
    from ottla.cluster.quorum_state import QuorumStateError
    from ottla.config.loading import load
    from ottla.config.values import ConfigError
    from ottla.server import node
    from ottla.server.large_memory import map_large_buffers
    from ottla.server.logs import set_up
    from ottla.server.quorum import QuorumFailed
    from ottla.storage.directory_identity import LogDirectoryError
    from ottla.wire.errors import KafkaError

    try:
        config, warnings = load(settings, os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    for warning in warnings:
        print(f"ottla: {warning}", file=sys.stderr)

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_on_signal, nursery.cancel_scope)
            await node.serve(config, started)

    the_worlds = (node.StartError, LogDirectoryError, MetadataLogError, QuorumStateError, QuorumFailed, KafkaError)
    failures: dict[str, None] = {}
    map_large_buffers()
    thresholds = gc.get_threshold()
    with set_up(config):
        try:
            trio.run(main)
        except* (*the_worlds, OSError) as group:
            failures |= dict.fromkeys(str(error) for error in leaves(group))
        finally:
            gc.unfreeze()
            gc.set_threshold(*thresholds)
    for failure in failures:
        print(f"ottla: {failure}", file=sys.stderr)
    return EXIT_FAILED if failures else EXIT_OK


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors in a group of groups."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def started(node: Node) -> None:
    """From here on the process serves."""
    announce(node)
    # What a start has made stays until the end. The collector need not look at it again, nor look for rubbish as often
    # as it would: requests leave none that goes in circles. It took 8 % of a busy broker's time.
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)


def announce(node: Node) -> None:
    """Say where clients find us."""
    places = ", ".join(str(listener) for listener in node.advertised())
    print(f"ottla: cluster {node.cluster_id}, node {node.config.node_id} serves {places}", flush=True)
    if node.status_address is not None:
        host, port = node.status_address
        print(f"ottla: metrics on http://{host}:{port}/metrics", flush=True)


async def _stop_on_signal(scope: object) -> None:
    import trio

    assert isinstance(scope, trio.CancelScope)
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()
            return
