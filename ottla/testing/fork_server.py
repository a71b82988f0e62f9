"""The process that brokers for tests are forked from: it has imported what they need, so a fork of it serves at once.

It forks when its test wants a broker, tells how each has ended, and ends itself when the test has gone, or when nobody
has wanted a broker for a while. There are no threads in it, since those are not forked along. The test's side of it
is `forking`; what a fork does then is `child`.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections import deque
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from ottla.server import later
from ottla.testing import child
from ottla.testing.forking import DESCRIPTOR_COUNT, FORK, FORKED, NO_PROCESS, STATUS

# What a broker needs when it serves: the first has to load it for itself, those that come later find it.
AT_LEISURE = ("ottla.testing.orders", *later.MODULES)
PATIENCE_SECONDS = 0.1
IDLE_SECONDS_MAX = 10.0
STATUS_FAILED = 1


def main() -> None:
    """The descriptor of the line to the test and the test's process id are this program's first two words."""
    gc.freeze()  # a fork's collector would touch, and so copy, every page of what is only read
    with socket.socket(fileno=int(sys.argv[1])) as line:
        ForkServer(line, int(sys.argv[2])).run()


class ForkServer:
    def __init__(self, line: socket.socket, test_id: int) -> None:
        self._line = line
        self._test_id = test_id
        # Brokers that run, and where their end is told.
        self._ended: dict[int, int] = {}
        self._woken, self._wakes = socket.socketpair()
        self._wakes.setblocking(False)
        self._to_load = deque(AT_LEISURE)

    def run(self) -> None:
        """Until nobody needs it. Brokers that still run by then know by themselves that their test has gone."""
        signal.set_wakeup_fd(self._wakes.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        waiting = select.poll()
        waiting.register(self._line, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        test = _process_descriptor(self._test_id)
        if test is not None:
            waiting.register(test, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in waiting.poll(self._patience_ms())}
            if not ready and self._to_load:
                import_module(self._to_load.popleft())
                gc.freeze()
                continue
            if not ready or test in ready:
                return
            if self._woken.fileno() in ready:
                self._woken.recv(1024)
                self._tell_ends()
            if self._line.fileno() in ready and not self._fork():
                return

    def _patience_ms(self) -> float | None:
        """How long it waits for something to do, before it does something else."""
        if self._to_load:
            return PATIENCE_SECONDS * 1000 if len(self._to_load) == len(AT_LEISURE) else 0.0
        return None if self._ended else IDLE_SECONDS_MAX * 1000

    def _fork(self) -> bool:
        """Do what the test asks for; False if it asks for nothing any more."""
        order, descriptors, _, _ = socket.recv_fds(self._line, FORK.size, DESCRIPTOR_COUNT)
        if not order:
            return False
        channel, output, ended = descriptors
        try:
            process_id = os.fork()
        except OSError:
            process_id = NO_PROCESS
        if process_id == 0:
            self._become_a_broker(channel, output, ended)
        os.close(channel)
        os.close(output)
        if process_id == NO_PROCESS:
            os.close(ended)
        else:
            self._ended[process_id] = ended
        try:
            self._line.sendall(FORKED.pack(*FORK.unpack(order), process_id))
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _tell_ends(self) -> None:
        for process_id, ended in list(self._ended.items()):
            found, status = os.waitpid(process_id, os.WNOHANG)
            if found:
                del self._ended[process_id]
                with suppress(BrokenPipeError):  # nobody wants to know any more
                    os.write(ended, STATUS.pack(os.waitstatus_to_exitcode(status)))
                os.close(ended)

    def _become_a_broker(self, channel: int, output: int, ended: int) -> NoReturn:
        status = STATUS_FAILED
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for one in (self._line, self._woken, self._wakes):
                one.close()
            for descriptor in (ended, *self._ended.values()):
                os.close(descriptor)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            status = child.run(socket.socket(fileno=channel), self._test_id)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)  # what is left on the stack is the server's


def _process_descriptor(process_id: int) -> int | None:
    """Readable when the process has ended; None where there is no such thing: the line has to do."""
    try:
        return os.pidfd_open(process_id)
    except (AttributeError, OSError):
        return None
