"""A network that exists only here: a namespace for each broker and one for clients, and a router that can be deaf.

    with a_network(["1", "2", "3"]) as network:
        Popen([*network.inside("1"), ...])      # a process in the namespace of broker 1
        network.drop("1", "2")                  # from now on nothing of what 1 sends reaches 2; 2 still reaches 1
        network.heal()

Whoever has made it is in the clients' namespace until the block ends, with all threads and processes that it starts.
The router drops without a word, so that to either side the other is silent, not gone: routes that end at a sender would
tell it at once. A namespace lives as long as a process in it, and the one that holds it ends with its standard input:
nothing stays behind, whatever happens to the test. All this takes root on Linux.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence

CLIENTS = "clients"
ROUTER = "router"
CLONE_NEWNET = 0x40000000
# A private range of which nobody outside these namespaces hears.
NETWORK = "10.213"
HOLD = "echo held && exec cat"


def missing() -> list[str]:
    """What this machine lacks for a network of its own."""
    lacking = [tool for tool in ("ip", "nsenter", "unshare", "setpriv") if shutil.which(tool) is None]
    return lacking if os.geteuid() == 0 else [*lacking, "root"]


class Namespace:
    """A network namespace, held by a process that waits for its input to end."""

    def __init__(self, name: str) -> None:
        self.name = name
        command = ["unshare", "--net", "sh", "-c", HOLD]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        assert self._holder.stdout.readline() == "held\n", f"no network namespace for {name}"

    @property
    def path(self) -> str:
        return f"/proc/{self._holder.pid}/ns/net"

    @property
    def inside(self) -> list[str]:
        """What runs the command behind it in here. That ends with the thread that has started it."""
        return ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--net={self.path}", "--"]

    def configure(self, *lines: str) -> None:
        """Commands of ip(8), by one process."""
        done = subprocess.run(
            [*self.inside, "ip", "-batch", "-"], input="\n".join(lines), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{self.name}: {done.stderr}"

    def close(self) -> None:
        self._holder.communicate()


class Network:
    def __init__(self, router: Namespace, hosts: dict[str, Namespace]) -> None:
        self._router = router
        self._hosts = hosts
        self._dropped: set[tuple[str, str]] = set()

    def address(self, name: str) -> str:
        return f"{NETWORK}.{list(self._hosts).index(name)}.2"

    def inside(self, name: str) -> list[str]:
        return self._hosts[name].inside

    def drop(self, *pairs: tuple[str, str]) -> None:
        """Drop what goes from the first of each pair to the second."""
        self._change("add", set(pairs) - self._dropped)
        self._dropped |= set(pairs)

    def heal(self, *pairs: tuple[str, str]) -> None:
        """Let these through again; without any, all."""
        healed = self._dropped & set(pairs) if pairs else set(self._dropped)
        self._change("del", healed)
        self._dropped -= healed

    def _change(self, verb: str, pairs: set[tuple[str, str]]) -> None:
        rules = [f"rule {verb} from {self.address(one)} to {self.address(other)} blackhole" for one, other in pairs]
        if rules:
            # The router remembers where packets went, until it is told to look again.
            self._router.configure(*rules, "route flush cache")

    def join(self) -> None:
        self._router.configure("link set lo up")
        for index, (name, host) in enumerate(self._hosts.items()):
            port, here, there = f"to-{name}", f"{NETWORK}.{index}.1", f"{NETWORK}.{index}.2"
            host.configure("link set lo up")
            self._router.configure(f"link add {port} type veth peer name eth0 netns {host.path}")
            self._router.configure(f"addr add {here}/24 dev {port}", f"link set {port} up")
            host.configure(f"addr add {there}/24 dev eth0", "link set eth0 up", f"route add default via {here}")
        forward = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
        subprocess.run([*self._router.inside, *forward], check=True)


@contextlib.contextmanager
def a_network(brokers: Sequence[str]) -> Iterator[Network]:
    assert not missing(), f"a network of its own needs {', '.join(missing())}"
    with contextlib.ExitStack() as stack:

        def held(name: str) -> Namespace:
            namespace = Namespace(name)
            stack.callback(namespace.close)
            return namespace

        network = Network(held(ROUTER), {name: held(name) for name in (*brokers, CLIENTS)})
        network.join()
        stack.enter_context(entered(network._hosts[CLIENTS].path))
        yield network


@contextlib.contextmanager
def entered(path: str) -> Iterator[None]:
    """This thread, and what it starts, in another network namespace."""
    with open(f"/proc/self/task/{_thread_id()}/ns/net") as before, open(path) as inside:
        _set_namespace(inside.fileno())
        try:
            yield
        finally:
            _set_namespace(before.fileno())


def _thread_id() -> int:
    return int(os.path.basename(os.readlink("/proc/thread-self")))


def _set_namespace(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
