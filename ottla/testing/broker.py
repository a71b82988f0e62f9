"""`Broker`: a Kafka broker for as long as a `with` block lasts, and what a test may do to it.

It lives in a process of its own or in a thread, see `process_host` and `thread_host`; here it has its port, which stays
the same through all its lives, and its directory, which goes with the last of them. Every Broker is a cluster of one.
Whatever ends the block, nothing is left: no process, thread, port or file.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from ottla.testing.failures import BrokerError
from ottla.testing.settings import Setting, text_of, texts_of

LOOPBACK = "127.0.0.1"


class Host(Protocol):
    """One life of a broker."""

    @property
    def is_running(self) -> bool: ...
    @property
    def output(self) -> str: ...
    def start(self) -> str: ...
    def call(self, order: str, arguments: Mapping[str, Any]) -> Any: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class Fault:
    """Something that was ordered to go wrong. It is forgotten when the broker is restarted."""

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self._number = number

    @property
    def taken(self) -> int:
        """How many requests it has met so far."""
        count: int = self._host.call("fault_taken", {"number": self._number})
        return count

    def remove(self) -> None:
        """It meets nobody any more."""
        self._host.call("remove_fault", {"number": self._number})


class Broker:
    """Settings are Kafka's: a mapping, or keywords with underscores for dots. `directory` keeps the data if given."""

    def __init__(
        self,
        settings: Mapping[str, Setting] | None = None,
        *,
        in_thread: bool = False,
        directory: str | os.PathLike[str] | None = None,
        **keywords: Setting,
    ) -> None:
        self._settings = texts_of(settings or {}, keywords)
        self._in_thread = in_thread
        self._kept_directory = None if directory is None else Path(directory).resolve()
        self._home: Path | None = None
        self._port_holder: socket.socket | None = None
        self._port = 0
        self._host: Host | None = None
        self._owner_id = os.getpid()

    # From the first to the last moment

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await _in_a_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _in_a_thread(self.close)

    def start(self) -> None:
        """Serve, with the data of the life before if there was one. Returns when clients can come."""
        if self.is_running:
            raise BrokerError("the broker is running")
        try:
            if not self._in_thread:
                from ottla.testing import forking  # threads do without

                forking.prepare()
            if self._home is None:
                self._settle_in()
            self._host = self._new_host()
            self._host.start()
        except BaseException:
            self._give_up()
            raise

    def _give_up(self) -> None:
        """A start has failed, or somebody pressed Ctrl-C meanwhile: there is nobody to be asked to stop."""
        if self._host is not None and self._host.is_running:
            self._host.kill()
        self.close()

    def stop(self) -> None:
        """End as brokers do that are told to. The data stay, and `start` goes on with them."""
        self._running.stop()

    def kill(self) -> None:
        """End at once, as by SIGKILL: nothing is answered, nothing is closed. The data stay as they are."""
        self._running.kill()

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        """The end, from whatever state. A second call does nothing, nor does one in a forked process."""
        if os.getpid() != self._owner_id:
            return
        host, self._host = self._host, None
        try:
            if host is not None and host.is_running:
                host.stop()
        finally:
            atexit.unregister(self.close)
            if self._port_holder is not None:
                self._port_holder.close()
            if self._home is not None:
                shutil.rmtree(self._home, ignore_errors=True)
            self._port_holder = self._home = None

    def _settle_in(self) -> None:
        """A directory, and a port that nobody else gets while the broker is down."""
        import tempfile  # slow, and the broker's process loads this file as well

        atexit.register(self.close)  # for whoever forgets to
        self._home = Path(tempfile.mkdtemp(prefix="ottla-"))
        holder = self._port_holder = socket.socket()
        # Who sets this too, as servers do, may listen on the port: Linux minds two listeners only.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((LOOPBACK, 0))
        self._port = holder.getsockname()[1]
        if sys.platform != "linux":
            holder.close()

    def _new_host(self) -> Host:
        assert self._home is not None
        directory = self._kept_directory or self._home / "data"
        settings = self._settings | {"listeners": f"PLAINTEXT://{self.bootstrap_servers}", "log.dirs": str(directory)}
        if self._in_thread:
            from ottla.testing.thread_host import ThreadHost

            return ThreadHost(settings)
        from ottla.testing.process_host import ProcessHost

        return ProcessHost(settings, self._home)

    # What it is

    @property
    def is_running(self) -> bool:
        return self._host is not None and self._host.is_running

    @property
    def bootstrap_servers(self) -> str:
        """What Kafka's clients call so: the same through all lives of the broker."""
        if self._home is None:
            raise BrokerError("the broker has no address before it is started and after it was closed")
        return f"{LOOPBACK}:{self._port}"

    @property
    def output(self) -> str:
        """The end of what the broker's process has printed, warnings and errors above all. A thread prints nothing."""
        return "" if self._host is None else self._host.output

    @property
    def _running(self) -> Host:
        if self._host is None or not self._host.is_running:
            raise BrokerError("the broker is not running")
        return self._host

    def _order(self, order: str, **arguments: Any) -> Any:
        return self._running.call(order, arguments)

    # Topics

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, Setting] | None = None) -> None:
        """Returns when clients can use it."""
        texts = {key: text_of(value) for key, value in (configs or {}).items()}
        self._order("create_topic", name=name, partitions=partitions, configs=texts)

    def delete_topic(self, name: str) -> None:
        self._order("delete_topic", name=name)

    # What goes wrong. An API is named as in Kafka's documentation, `Produce`; an error by its name or number there.

    def fail_next(self, api: str, error: str | int, *, times: int | None = 1, client_id: str | None = None) -> Fault:
        """Answer the next requests of an API with an error, and do nothing of what they ask for; None is for ever."""
        error = int(error) if isinstance(error, int) else error
        return self._fault("fail", api=api, error=error, times=times, client_id=client_id)

    def delay_next(self, api: str, seconds: float, *, times: int | None = 1, client_id: str | None = None) -> Fault:
        """Do at once what the next requests ask for, and hold back the answers for so long."""
        return self._fault("delay", api=api, seconds=seconds, times=times, client_id=client_id)

    def cut_off_next(self, api: str, *, times: int | None = 1, client_id: str | None = None) -> Fault:
        """Do what the next requests ask for, and close the connection in place of an answer."""
        return self._fault("cut_off", api=api, times=times, client_id=client_id)

    def remove_faults(self) -> None:
        self._order("remove_faults")

    def _fault(self, order: str, **arguments: Any) -> Fault:
        return Fault(self._running, self._order(order, **arguments))

    def move_leader(self, topic: str, partition: int = 0) -> None:
        """Let the leader of a partition change. There is but one broker: it loses the partition and gets it back."""
        with self.without_leader(topic, partition):
            pass

    @contextmanager
    def without_leader(self, topic: str, partition: int = 0) -> Iterator[None]:
        """Nobody leads the partition inside of the block. After it, the broker does, in a later epoch."""
        self._order("take_leader", topic=topic, partition=partition)
        try:
            yield
        finally:
            if self.is_running:  # a broker that starts anew takes what nobody leads
                self._order("give_leader", topic=topic, partition=partition)

    def fence_member(self, group: str, member: str | None = None) -> list[str]:
        """Throw a member out of its group, as if its session had ended: told by member, client or instance id.

        Without a name, all of them. Returns their member ids.
        """
        found: list[str] = self._order("fence_member", group_id=group, member=member)
        return found


async def _in_a_thread(function: Callable[[], None]) -> None:
    """Wait for something that blocks, in asyncio or in trio."""
    if _is_in_asyncio():
        import asyncio

        await asyncio.to_thread(function)
    else:
        import trio

        await trio.to_thread.run_sync(function)


def _is_in_asyncio() -> bool:
    asyncio = sys.modules.get("asyncio")  # who runs in its loop has imported it; nobody else shall have to
    try:
        return asyncio is not None and asyncio.get_running_loop() is not None
    except RuntimeError:
        return False
