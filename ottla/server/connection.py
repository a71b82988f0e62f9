"""One client's connection: requests are taken in order and answered in order.

All whole requests that have come are handled in one pass, then everything that is ready is sent at once. A Produce that
waits does not stop those behind it; a Fetch that waits does. While answers cannot be sent nothing more is read, and no
more is handled than a bounded number of bytes of answers: a client that does not read costs that, or one answer.

The connection belongs to the task that runs `serve`. While that has only to wait for the client, it may sleep, and
`ready` serves what comes in its place: see readiness.py. Others may complete its answers; they send what the socket
takes at once and leave the rest to `drain`. Anybody may close it, at any time.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

import trio

from ottla.server import dispatch
from ottla.server.cold_reads import cold_range, fetch_in
from ottla.server.dispatch import CloseConnection
from ottla.server.line_places import InLine, Slot
from ottla.server.parking import Pending
from ottla.server.receiving import Receiver
from ottla.server.sparing_log import SparingLog
from ottla.server.transport import BYTES_PER_TURN_MAX, Piece, SocketTransport
from ottla.wire.framing import FramingError

if TYPE_CHECKING:
    from ottla.server.broker import Broker

log = logging.getLogger(__name__)
cut_offs = SparingLog(log)

# Answers that may wait in line behind one that is not there yet.
LINE_LENGTH_MAX = 500
# Answers that may be there and not sent, before no further request is handled. A small request can have a large answer.
UNSENT_BYTES_MAX = 1 << 20
# How long a client may take to notice that the broker has said its last word.
LINGER_SECONDS_MAX = 1.0
# When the broker stops: how long it waits for answers that others have to complete, as those of a group.
OTHERS_SECONDS_MAX = 2.0
# A client that always has more to say must let others speak.
PASSES_PER_TURN_MAX = 8
# What was in memory a moment ago still is: who takes an answer in many small steps is not looked after at each.
WARM_SECONDS = 0.1


class Connection:
    __slots__ = (
        "_can_go_on",
        "_clock",
        "_drained",
        "_failure",
        "_has_passed",
        "_is_behind",
        "_is_closed",
        "_is_finishing",
        "_is_holding",
        "_is_in_pass",
        "_is_stopped",
        "_is_told",
        "_last_bytes",
        "_line",
        "_may_be_cold",
        "_parked",
        "_pass_count",
        "_queue",
        "_receiver",
        "_transport",
        "_unsent_bytes",
        "active_at",
        "broker",
        "client_host",
        "is_alone",
        "listener_name",
        "principal",
        "serving",
        "stand_in_line",
    )

    def __init__(self, broker: Broker, transport: SocketTransport, listener_name: str, client_host: str) -> None:
        self.broker = broker
        self.listener_name = listener_name
        self.serving = broker.serving_on(listener_name)
        self.client_host = client_host
        self.principal = "User:ANONYMOUS"
        self._clock = trio.lowlevel.current_clock().current_time
        self.active_at = self._clock()
        self._transport = transport
        request_bytes_max = broker.config.socket_request_max_bytes
        self._receiver = Receiver(transport.receive_into, broker.receive_buffers, request_bytes_max)
        # Answers on their way, and before them in time, places for those that are not all there yet.
        self._queue: deque[Piece] = deque()
        self._line: deque[InLine] = deque()
        # Keep a place for an answer that comes in this pass, or after the sync that follows it.
        self.stand_in_line = self._line.append
        self._unsent_bytes = 0
        # Answers of several pieces may hold ranges of files, and these may not be in memory.
        self._may_be_cold = False
        # No request may be handled now. There may be some in the buffer that have not been.
        self._is_stopped = False
        self._is_behind = False
        self._is_in_pass = False
        # Whether the pass has one request, and nothing is to be answered before it.
        self.is_alone = False
        self._pass_count = 0
        # Whether `ready` is called; the task that sleeps; whether a pass was made in its place that left it something
        # to do; and what went wrong in it.
        self._is_told = False
        self._parked: trio.lowlevel.Task | None = None
        self._has_passed = False
        self._failure: Exception | None = None
        self._is_closed = False
        # Once the broker stops, no more is read than the bytes that have come by then.
        self._is_finishing = False
        self._last_bytes = 0
        # Whether part of a request is held, and counted.
        self._is_holding = False
        self._drained: trio.Event | None = None
        self._can_go_on: trio.Event | None = None

    def begin(self) -> None:
        """Serve what has come by now, before `serve` has its first turn: who connects and asks need not wait for those
        who ask later on connections that are there."""
        try:
            receiver = self._receiver
            count = receiver.take()
            # The task finds the end too, and ends; of what comes from here on it is told.
            receiver.may_have_more = count is not None and (receiver.may_have_more or not count)
            if count:
                self._has_passed = True
                self.handle_pass()
        except Exception as error:
            self.send()
            self._failure = error

    async def serve(self) -> None:
        """Serve until the client goes, breaks the protocol, or is cut off."""
        try:
            await self._serve()
        except (FramingError, CloseConnection) as error:
            self.cut_off(str(error))
        except (OSError, trio.ClosedResourceError):
            pass  # the client has gone, or is not wanted here any more
        except Exception:
            log.exception("%s on %s is cut off: the broker made a mistake", self.client_host, self.listener_name)
        finally:
            self.close()

    async def _serve(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._is_closed:
            return
        among = len(self.broker.connection_limits)
        self._is_told = self.broker.readiness.add(self._transport.socket.fileno(), self, among=among)
        while self._has_passed or await self._receive():
            if not self._has_passed:
                self.handle_pass()
            self._has_passed = False
            await self._go_on()
        if self._is_finishing:
            await self._finish()

    async def _go_on(self) -> None:
        """Handle what a pass has left, however long answers take that must be waited for."""
        self._count_held()
        while (self._queue or self._is_behind) and not self._is_closed:
            if self._queue:
                await self.drain()
            elif self._is_stopped:
                await self._wait_in_line()
            else:
                self.handle_pass()

    def _count_held(self) -> None:
        """Have what is here of a request that has not come to its end counted; that may be too much for this one."""
        held_bytes = self._receiver.reader.held_bytes
        if held_bytes or self._is_holding:
            self._is_holding = held_bytes > 0
            self.broker.half_received.hold(self, held_bytes, self.active_at)

    async def _receive(self) -> bool:
        """Take what has come, or wait for a pass that leaves something to do; False at the end."""
        self._pass_count += 1
        if self._pass_count > PASSES_PER_TURN_MAX:
            self._pass_count = 0
            await trio.lowlevel.checkpoint()
        is_looked_at = self._receiver.may_have_more
        while not (self._is_closed or self._is_finishing):
            if is_looked_at:
                count = self._receiver.take()
                if count is not None:
                    self.active_at = self._clock()
                    return count > 0
            is_looked_at = True
            self._pass_count = 0
            if self._is_told:
                await self._sleep()
                if self._has_passed:
                    return True
            else:
                await self._wait_readable()
        return False

    async def _sleep(self) -> None:
        """Sleep until there is something to do that `ready` cannot do."""
        self._parked = trio.lowlevel.current_task()

        def abort(_: object) -> trio.lowlevel.Abort:
            self._parked = None
            return trio.lowlevel.Abort.SUCCEEDED

        await trio.lowlevel.wait_task_rescheduled(abort)
        if self._failure is not None:
            raise self._failure

    def _wake(self) -> None:
        task, self._parked = self._parked, None
        if task is not None:
            trio.lowlevel.reschedule(task)

    def ready(self, *, has_ended: bool) -> bool:
        """Serve what has come while the task sleeps; it is woken for all that takes more than one pass."""
        receiver = self._receiver
        try:
            if self._parked is not None and not has_ended:
                return self._serve_at_once(receiver)
            receiver.has_ended, receiver.may_have_more = receiver.has_ended or has_ended, True
        except Exception as error:
            self.send()
            self._failure = error
        self._wake()
        return False

    def _serve_at_once(self, receiver: Receiver) -> bool:
        """Whether there are answers to be sent. Where more comes than one turn takes, the task has the next."""
        has_passed = False
        for _ in range(PASSES_PER_TURN_MAX):
            count = receiver.take()
            if not count:
                receiver.may_have_more = count is not None  # the task finds the end too, and ends
                break
            has_passed = True
            self.active_at = self._clock()
            self.handle_pass(sends=False)
            if self._is_holding or receiver.reader.has_rest:
                self._count_held()
            if self._is_behind or not receiver.may_have_more:
                break
        if not (self._is_behind or receiver.may_have_more):
            return bool(self._queue)
        self.send()
        self._has_passed = has_passed
        self._wake()
        return False

    def answer_ready(self) -> None:
        """Send what `ready` has left; the task is woken for what the socket does not take."""
        self.send()
        if self._queue:
            self._has_passed = True
            self._wake()

    async def _wait_readable(self) -> None:
        try:  # noqa: SIM105 (`suppress` would cost more, for each request)
            await trio.lowlevel.wait_readable(self._transport.socket)
        except trio.ClosedResourceError:
            pass  # closed, or finishing: the caller looks

    async def _wait_writable(self) -> None:
        with suppress(trio.ClosedResourceError):
            await trio.lowlevel.wait_writable(self._transport.socket)

    def handle_pass(self, *, sends: bool = True) -> None:
        """Handle every whole request that has come and whose turn it is, then send what is ready."""
        receiver = self._receiver
        if self._is_stopped:
            receiver.keep()
            self._is_behind = receiver.reader.pending_bytes > 0
            return
        if not self._queue and not self._line:
            self._unsent_bytes = 0
            self._may_be_cold = False
        broker = self.broker
        now_ms = broker.now_ms()
        self._is_behind = False
        self._is_in_pass = True
        only, receiver.only = receiver.only, None
        self.is_alone = only is not None and not (self._line or self._queue)
        try:
            for frame in receiver.reader.frames() if only is None else (only,):
                dispatch.handle(broker, self, frame, now_ms)
                if len(self._line) >= LINE_LENGTH_MAX or self._unsent_bytes > UNSENT_BYTES_MAX or self._is_stopped:
                    self._is_stopped = bool(self._line)
                    self._is_behind = receiver.reader.pending_bytes > 0
                    break
        finally:
            # Even if the last request was the client's last: those before it are answered.
            broker.end_pass()
            self._is_in_pass = False
            if sends:
                self.send()
            if receiver.reader.has_rest:
                receiver.keep()

    @property
    def parked_count(self) -> int:
        """Answers that are awaited."""
        return sum(slot.pieces is None for slot in self._line)

    # The line of answers

    def answer(self, pieces: list[Piece]) -> None:
        """The answer to the last request, after all that are still awaited."""
        if len(pieces) == 1:
            self._unsent_bytes += len(pieces[0])
        else:
            self._unsent_bytes += sum(map(len, pieces))
            self._may_be_cold = True
        if self._line:
            slot = Slot(self, None, 0, 0, 0)
            slot.pieces = pieces
            self._line.append(slot)
        else:
            self._queue += pieces

    def park(self, pending: Pending, version: int, header_version: int, correlation_id: int) -> None:
        """Keep a place in line for an answer that will come."""
        slot = Slot(self, pending, version, header_version, correlation_id)
        pending.place = slot
        self._line.append(slot)
        self._is_stopped = pending.stops_line

    def advance(self) -> None:
        """Move answers that are ready from the line to the queue."""
        line = self._line
        while line and (pieces := line[0].pieces) is not None:
            self._queue += pieces
            self._may_be_cold = self._may_be_cold or len(pieces) > 1
            line.popleft()
        if self._is_stopped:
            self._is_stopped = self._must_stop()
            if self._can_go_on is not None and not self._is_stopped:
                self._can_go_on.set()
        if self._queue and not self._is_in_pass:
            self.broker.has_answers(self)

    def _must_stop(self) -> bool:
        """Whether what is in the line keeps further requests waiting. Who stops the line is the last in it."""
        if not self._line:
            return False
        last = self._line[-1].pending
        is_full = len(self._line) >= LINE_LENGTH_MAX or self._unsent_bytes > UNSENT_BYTES_MAX
        return is_full or (last is not None and last.stops_line)

    async def _wait_in_line(self) -> None:
        """Requests have come that may not be handled before an answer that is awaited."""
        self._can_go_on = trio.Event()
        await self._can_go_on.wait()
        self._can_go_on = None

    # Sending

    def send(self) -> None:
        """Send what the socket takes now. What is left, or not in memory, is drained by a task."""
        if self._queue and self._drained is None and not self._is_closed:
            if self._may_be_cold and cold_range(self._queue) is not None:
                return
            try:
                self._transport.send(self._queue)
            except OSError:
                self.close()  # part of an answer may be on its way, and nothing can follow it

    def send_from_elsewhere(self) -> None:
        """The same, for answers completed in somebody else's pass."""
        self.active_at = self._clock()
        self.send()
        if self._queue and self._drained is None and not self._is_closed:
            self.broker.start_soon(self.drain)

    async def drain(self) -> None:
        """Send all that is queued, as fast as the client takes it."""
        if self._drained is not None:
            await self._drained.wait()
            return
        self._drained = trio.Event()
        warm_bytes, warm_until = 0, 0.0
        try:
            while self._queue and not self._is_closed:
                if self._may_be_cold and (warm_bytes <= 0 or trio.current_time() >= warm_until):
                    warm_bytes = await self._warm_up()
                    warm_until = trio.current_time() + WARM_SECONDS
                if sent_bytes := self._transport.send(self._queue):
                    warm_bytes -= sent_bytes
                    self.active_at = trio.current_time()
                if self._queue and sent_bytes < BYTES_PER_TURN_MAX:
                    await self._wait_writable()  # it took what it takes now
                else:
                    await trio.lowlevel.checkpoint()
        except OSError:
            self.close()
        finally:
            self._drained.set()
            self._drained = None

    async def _warm_up(self) -> int:
        """Have the disk read what is to be sent next, while others are served; how many bytes need no further look."""
        cold = cold_range(self._queue)
        if cold is None:
            return BYTES_PER_TURN_MAX
        await trio.to_thread.run_sync(fetch_in, cold, limiter=self.broker.disk_readers)
        return 0  # behind it there may be others

    # The end

    def finish(self) -> None:
        """The broker stops: answer what has come by now, and end. `serve` returns when that is done."""
        if not (self._is_closed or self._is_finishing):
            self._is_finishing = True
            self._last_bytes = self._transport.waiting_bytes()
            trio.lowlevel.notify_closing(self._transport.socket)  # wakes whoever waits for the socket
            self._wake()

    async def _finish(self) -> None:
        is_in_use = self.active_at > trio.current_time() - LINGER_SECONDS_MAX or self._last_bytes > 0
        while self._last_bytes > 0 and not self._is_closed:
            count = self._receiver.take_last(self._last_bytes)
            if not count:
                break
            self._last_bytes -= count
            self.handle_pass()
            await self._go_on()
        await self._await_answers()
        await self.drain()
        if is_in_use and not self._is_closed:
            await self._linger()

    async def _await_answers(self) -> None:
        """Wait for the disk, however long that takes; for what others have to say, a little."""
        patience = trio.CancelScope()
        while self._line and not self._is_closed and not patience.cancelled_caught:
            last = self._line[-1].pending
            if last is not None and last.stops_line:
                patience = trio.move_on_after(OTHERS_SECONDS_MAX)
            with patience:
                self._is_stopped = True  # so that whoever completes an answer wakes us
                await self._wait_in_line()

    async def _linger(self) -> None:
        """Closing while something comes would reset the connection, and the client might lose its last answers."""
        self._transport.end_sending()
        with trio.move_on_after(LINGER_SECONDS_MAX):
            while not self._is_closed:
                try:
                    if not self._transport.receive_into(bytearray(4096)):
                        break
                except BlockingIOError:
                    await self._wait_readable()

    def cut_off(self, why: str) -> None:
        """Close for a reason that there is no answer for. What is ready is sent first."""
        if self._is_closed:
            return
        cut_offs.info(trio.current_time(), "%s on %s is cut off: %s", self.client_host, self.listener_name, why)
        self.send()
        self.close()

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._receiver.forget()
        self.broker.half_received.release(self)
        line = list(self._line)
        self._line.clear()
        for slot in line:
            if slot.pending is not None:
                slot.pending.abandon()
        self._queue.clear()
        if self._can_go_on is not None:
            self._can_go_on.set()
        self._wake()
        self.broker.readiness.forget(self._transport.socket.fileno())
        trio.lowlevel.notify_closing(self._transport.socket)
        self._transport.close()
