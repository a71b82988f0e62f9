"""`ottla serve --brokers N`: N processes on this machine, one cluster.

Every node is broker and controller, with a directory of its own below the one that was asked for, and ports of its own:
from the given port on, two for each node. What they print goes on under their numbers. They stop together; one that
dies alone is told of, and the cluster goes on without it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import trio

from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError
from ottla.config.loading import load
from ottla.config.values import ConfigError
from ottla.server.formatting import found_cluster_id
from ottla.server.random_ids import random_id
from ottla.storage.files import OsDisk
from ottla.wire.primitives import uuid_text

if TYPE_CHECKING:
    from ottla.config.broker import BrokerConfig

BROKERS_MAX = 25
PR_SET_PDEATHSIG = 1
# What is different for each node, and may not be given for all of them.
EACH_HAS_ITS_OWN = ("node.id", "broker.id", "process.roles", "controller.quorum.voters", "advertised.listeners")


def serve_many(settings: Mapping[str, str], count: int) -> int:
    if not 1 <= count <= BROKERS_MAX:
        raise UsageError(f"--brokers takes a number from 1 to {BROKERS_MAX}, not {count}")
    for key in EACH_HAS_ITS_OWN:
        if key in settings:
            raise UsageError(f"{key} cannot be given with --brokers: each broker has its own")
    try:
        config = load(settings, os.environ).config
    except ConfigError as error:
        raise UsageError(str(error)) from error
    if len(config.broker_listeners) != 1 or len(config.log_directories) != 1:
        raise UsageError("--brokers works with one listener and one directory, of which each broker gets its own")
    with contextlib.ExitStack() as stack:
        nodes = nodes_of(settings, config, count, stack)
        return trio.run(_run_all, nodes)


def nodes_of(
    settings: Mapping[str, str], config: BrokerConfig, count: int, stack: contextlib.ExitStack
) -> list[dict[str, str]]:
    """The settings of each node."""
    (listener,) = config.broker_listeners
    controllers = config.controller_listener_names[0]
    home = config.log_directories[0]
    homes = [os.path.join(home, f"broker-{number}") for number in range(1, count + 1)]
    cluster_id = config.cluster_id or found_cluster_id(OsDisk(), homes) or uuid_text(random_id())
    host = listener.host or "localhost"
    ports = [_ports(listener.port, number, host, stack) for number in range(count)]
    voters = ",".join(f"{number}@{host}:{port}" for number, (_, port) in enumerate(ports, 1))
    return [
        {
            **settings,
            "node.id": str(number),
            "process.roles": "broker,controller",
            "cluster.id": cluster_id,
            "log.dirs": homes[number - 1],
            "listeners": f"{listener.name}://{listener.host}:{port},{controllers}://{host}:{controller_port}",
            "controller.listener.names": controllers,
            "controller.quorum.voters": voters,
        }
        for number, (port, controller_port) in enumerate(ports, 1)
    ]


def _ports(first: int, number: int, host: str, stack: contextlib.ExitStack) -> tuple[int, int]:
    if first:
        return first + 2 * number, first + 2 * number + 1
    return stack.enter_context(_held_port(host)), stack.enter_context(_held_port(host))


@contextlib.contextmanager
def _held_port(host: str) -> Iterator[int]:
    """A port of the system's choice, which it gives to nobody else as long as this lasts; a server may listen there."""
    family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(address)
        yield holder.getsockname()[1]


async def _run_all(nodes: list[dict[str, str]]) -> int:
    statuses: list[int] = []
    brokers: list[subprocess.Popen[bytes]] = []
    async with trio.open_nursery() as nursery:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with trio.open_nursery() as running:
                for number, settings in enumerate(nodes, 1):
                    brokers.append(_start(settings))
                    running.start_soon(_watch, number, brokers[-1], statuses, len(nodes))
                nursery.start_soon(_pass_on, signals, brokers)
            nursery.cancel_scope.cancel()
    return EXIT_FAILED if any(statuses) else EXIT_OK


def _start(settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """By this thread, and no other: a broker ends with the thread that started it, and trio's own come and go."""
    words = [word for key, value in settings.items() for word in (f"--{key}", value)]
    return subprocess.Popen(
        [sys.executable, "-m", "ottla", "serve", *words],
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is for us alone, who pass it on
        preexec_fn=_end_with_parent,
    )


def _end_with_parent() -> None:
    """In a new broker: when whoever started it is gone, however, it is told to stop. Linux alone can say so."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def _watch(number: int, process: subprocess.Popen[bytes], statuses: list[int], count: int) -> None:
    """Print what a broker prints, and what becomes of it."""
    assert process.stdout is not None
    pending = b""
    async with trio.lowlevel.FdStream(os.dup(process.stdout.fileno())) as stream:
        process.stdout.close()
        async for data in stream:
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                print(f"[{number}] {line.decode(errors='replace')}", flush=True)
    status = await trio.to_thread.run_sync(process.wait)
    statuses.append(status)
    if status:
        left = count - len(statuses)
        print(f"ottla: broker {number} ended with status {status}; {left} are left", file=sys.stderr, flush=True)


async def _pass_on(signals: object, brokers: list[subprocess.Popen[bytes]]) -> None:
    async for number in signals:  # type: ignore[attr-defined]
        for process in brokers:
            process.send_signal(number)  # to nobody, if it has ended
