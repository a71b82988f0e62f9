"""`ottla format`: make log directories those of a cluster before the first start, as Kafka's storage tool does.

`ottla serve` formats what it finds empty. Whoever wants several controllers without `controller.quorum.voters`, or an
older metadata.version, or to see the cluster's id beforehand, formats by hand. In each directory `meta.properties`
comes last: one that has it is done, and is not touched again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.commands import EXIT_OK, CommandFailed, UsageError

if TYPE_CHECKING:
    from ottla.commands.format_plan import Plan
    from ottla.commands.terminal import Terminal
    from ottla.config.broker import BrokerConfig
    from ottla.storage.files import Disk

EPILOG = """\
examples:
  ottla format --config server.properties --standalone
  ottla format --config server.properties --cluster-id 7gK1kE6hT0iY3yN5k0bZVQ \\
      --initial-controllers 1@one:9093:JEXY6aqzQY-32P5TStzaFg,2@two:9093:MvDxzVmcRsaTz33bUuRU6A
  ottla format --config server.properties --cluster-id 7gK1kE6hT0iY3yN5k0bZVQ --no-initial-controllers

Any key of Kafka's configuration can be given as --KEY VALUE; docs/cluster.md shows how a cluster is begun.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "format",
        help="make log directories those of a new cluster",
        description="Make the log directories of a node those of a new cluster, before its first start.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("-c", "--config", metavar="FILE", help="a server.properties file")
    parser.add_argument("-t", "--cluster-id", metavar="ID", help="the cluster's id; a new one if it is not given")
    parser.add_argument("-g", "--ignore-formatted", action="store_true", help="skip directories that are formatted")
    parser.add_argument("-r", "--release-version", metavar="RELEASE", help="features as of this release, such as 4.0")
    parser.add_argument(
        "-f", "--feature", metavar="FEATURE=LEVEL", action="append", default=[], help="another level; may be repeated"
    )
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument("-s", "--standalone", action="store_true", help="a quorum of this node, which others may join")
    quorum.add_argument(
        "-I", "--initial-controllers", metavar="ID@HOST:PORT:DIRECTORY_ID,...", help="the controllers of a new quorum"
    )
    quorum.add_argument("-N", "--no-initial-controllers", action="store_true", help="join a quorum that is elsewhere")
    parser.set_defaults(command=format_storage, takes_settings=True)


def format_storage(parsed: argparse.Namespace) -> int:
    from ottla.commands.format_plan import FormatError, plan
    from ottla.commands.serve import read_settings
    from ottla.commands.terminal import Terminal
    from ottla.config.loading import load
    from ottla.config.values import ConfigError
    from ottla.server.formatting import found_cluster_id
    from ottla.server.random_ids import random_id
    from ottla.server.running_node import FEATURES
    from ottla.storage.files import OsDisk

    try:
        config, warnings = load(read_settings(parsed.config, parsed.settings), os.environ)
        made = plan(
            config,
            FEATURES,
            random_id,
            cluster_id=parsed.cluster_id or found_cluster_id(OsDisk(), config.log_directories),
            release=parsed.release_version,
            features=parsed.feature,
            is_standalone=parsed.standalone,
            controllers=parsed.initial_controllers,
            joins=parsed.no_initial_controllers,
        )
    except (ConfigError, FormatError) as error:
        raise UsageError(str(error)) from error
    for warning in warnings:
        sys.stderr.write(f"ottla: {warning}\n")
    write(OsDisk(), config, made, Terminal(sys.stdout), skips_formatted=parsed.ignore_formatted)
    return EXIT_OK


def write(disk: Disk, config: BrokerConfig, made: Plan, terminal: Terminal, *, skips_formatted: bool) -> None:
    """Format what is not formatted, the metadata log's directory first: the others' ids are nobody else's business."""
    from ottla.server.random_ids import random_id

    home = os.path.normpath(config.metadata_directory)
    directories = list(dict.fromkeys([home, *(os.path.normpath(one) for one in config.log_directories)]))
    todo = _unformatted(disk, directories, config.node_id, made.cluster_id, skips_formatted=skips_formatted)
    if not todo:
        terminal.line("all directories are formatted already")
        return
    terminal.line(f"cluster {made.cluster_id}, node {config.node_id}")
    for directory in todo:
        directory_id = made.directory_id if directory == home else random_id()
        try:
            _write_one(disk, directory, made, config.node_id, directory_id, is_home=directory == home)
        except OSError as error:
            raise CommandFailed(f"{directory} cannot be formatted: {error.strerror or error}") from error
        terminal.line(f"formatted {directory}")


def _unformatted(
    disk: Disk, directories: Sequence[str], node_id: int, cluster_id: str, *, skips_formatted: bool
) -> list[str]:
    """Those without `meta.properties`. One of another node or cluster is refused, whatever was asked for."""
    from ottla.storage.directory_identity import Identity, LogDirectoryError, establish
    from ottla.storage.meta_properties import FILE_NAME

    todo = []
    for directory in directories:
        if not disk.exists(os.path.join(directory, FILE_NAME)):
            todo.append(directory)
            continue
        if not skips_formatted:
            raise CommandFailed(f"{directory} is formatted already; --ignore-formatted skips such directories")
        try:
            establish(disk, directory, Identity(cluster_id, node_id))
        except LogDirectoryError as error:
            raise CommandFailed(str(error)) from error
    return todo


def _write_one(disk: Disk, directory: str, made: Plan, node_id: int, directory_id: bytes, *, is_home: bool) -> None:
    import time

    from ottla.cluster.bootstrap import (
        BOOTSTRAP_FILE_NAME,
        BOOTSTRAP_SNAPSHOT,
        METADATA_LOG_DIRECTORY,
        bootstrap_checkpoint,
        voters_snapshot,
    )
    from ottla.storage.log_directory import make_durably
    from ottla.storage.meta_properties import MetaProperties, write_meta_properties

    now_ms = time.time_ns() // 1_000_000
    make_durably(disk, directory)
    disk.replace(os.path.join(directory, BOOTSTRAP_FILE_NAME), bootstrap_checkpoint(made.records, timestamp=now_ms))
    if is_home and made.voters:
        partition = os.path.join(directory, METADATA_LOG_DIRECTORY)
        make_durably(disk, partition)
        snapshot = voters_snapshot(made.voters, timestamp=now_ms)
        disk.replace(os.path.join(partition, BOOTSTRAP_SNAPSHOT.file_name), snapshot)
    meta = MetaProperties(cluster_id=made.cluster_id, node_id=node_id, directory_id=directory_id)
    write_meta_properties(disk, directory, meta)
