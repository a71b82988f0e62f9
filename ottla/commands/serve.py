"""`ottla serve`: a broker in this process, until it is told to stop.

With nothing set it is one node that is broker and controller. What is set comes from a properties file, in a container
from its variables, and from `--KEY VALUE` words, which win. SIGTERM and SIGINT stop it cleanly (stop_signals.py).
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError
from ottla.commands.stop_signals import StopSignals, stop_signals

if TYPE_CHECKING:
    from ottla.server.node import Node

COLLECT_AFTER = 20_000

EPILOG = """\
examples:
  ottla serve                                         a broker on port 9092, data below the user's data directory
  ottla serve --ephemeral --listeners PLAINTEXT://127.0.0.1:0
  ottla serve --brokers 3                             a cluster of three, on ports 9092, 9094 and 9096
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
    parser.add_argument(
        "--container", action="store_true", help="take KAFKA_* variables as settings, as Apache Kafka's image does"
    )
    parser.add_argument(
        "--brokers", metavar="N", type=int, help="start N processes on this machine that are one cluster"
    )
    parser.set_defaults(command=serve, takes_settings=True)


def serve(parsed: argparse.Namespace) -> int:
    with ExitStack() as stack:
        signals = stack.enter_context(stop_signals())  # until the directory is gone
        settings = read_settings(parsed.config, parsed.settings, in_container=parsed.container)
        if parsed.ephemeral or settings.get("ottla.ephemeral") == "true":
            import tempfile  # slow, and few start so

            settings["log.dirs"] = stack.enter_context(tempfile.TemporaryDirectory(prefix="ottla-"))
        if parsed.brokers is not None:
            from ottla.commands.serve_many import serve_many

            return serve_many(settings, parsed.brokers)
        return run(settings, signals)


def read_settings(path: str | None, words: Sequence[str], *, in_container: bool = False) -> dict[str, str]:
    """What was set, in the file, in the container's variables and in words; the later win."""
    from ottla.config.properties import merged, parse_arguments, parse_properties
    from ottla.config.values import ConfigError

    if in_container and path is None:
        path = mounted_file()
    try:
        in_file: Mapping[str, str] = {}
        if path is not None:
            with open(path, "rb") as file:
                in_file = parse_properties(file.read(), path)
        if in_container:
            in_file = with_variables(in_file)
        return merged(in_file, parse_arguments(words))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ConfigError as error:
        raise UsageError(str(error)) from error


def mounted_file() -> str | None:
    """The server.properties that somebody put into the container, if so."""
    from ottla.config.container import MOUNTED_PROPERTIES

    return MOUNTED_PROPERTIES if os.path.exists(MOUNTED_PROPERTIES) else None


def with_variables(in_file: Mapping[str, str]) -> dict[str, str]:
    import socket

    from ottla.config.container import container_settings

    return container_settings(os.environ, socket.gethostname(), in_file)


def run(settings: Mapping[str, str], signals: StopSignals) -> int:
    thresholds = gc.get_threshold()
    gc.disable()  # until settle_collector: imports leave no rubbish
    try:
        return run_node(settings, signals)
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        gc.enable()


def run_node(settings: Mapping[str, str], signals: StopSignals) -> int:
    import trio

    from ottla.cluster.metadata_log import MetadataLogError
    from ottla.cluster.quorum_state import QuorumStateError
    from ottla.config.loading import load
    from ottla.config.values import ConfigError
    from ottla.server import node
    from ottla.server.directory_failures import DirectoriesLost
    from ottla.server.large_memory import map_large_buffers
    from ottla.server.logs import set_up
    from ottla.server.quorum import QuorumFailed
    from ottla.server.running_node import StartError
    from ottla.storage.directory_identity import LogDirectoryError
    from ottla.wire.errors import KafkaError

    try:
        config, warnings = load(settings, os.environ)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    for warning in warnings:
        print(f"ottla: {warning}", file=sys.stderr)

    async def main() -> None:
        token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as scope, signals.stopping(lambda: token.run_sync_soon(scope.cancel)):
            await node.serve(config, announce, settle_collector)

    at_start = (StartError, LogDirectoryError, MetadataLogError, QuorumStateError)
    the_worlds = (*at_start, DirectoriesLost, QuorumFailed, KafkaError)
    failures: dict[str, None] = {}
    map_large_buffers()
    settle_collector()
    with set_up(config):
        try:
            trio.run(main)
        except* (*the_worlds, OSError) as group:
            failures |= dict.fromkeys(str(error) for error in leaves(group))
    for failure in failures:
        print(f"ottla: {failure}", file=sys.stderr)
    return EXIT_FAILED if failures else EXIT_OK


def leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors in a group of groups."""
    found: list[BaseException] = []
    for error in group.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def settle_collector() -> None:
    """What a start has made stays until the end, so the collector need not look at it again.

    Nor look for rubbish as often as it would: requests leave none that goes in circles. It took 8 % of a busy broker's
    time, and 4 % of a start.
    """
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    gc.enable()


def announce(node: Node) -> None:
    """Say where clients find us."""
    places = ", ".join(str(listener) for listener in node.advertised() or node.controller_listeners())
    print(f"ottla: cluster {node.cluster_id}, node {node.config.node_id} serves {places}", flush=True)
    if node.status_address is not None:
        host, port = node.status_address
        print(f"ottla: metrics on http://{host}:{port}/metrics", flush=True)
