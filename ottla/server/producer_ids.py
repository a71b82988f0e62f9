"""Producer ids: taken one at a time from a block that the controller gave this broker (KIP-730)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ottla.server.controller_channel import ControllerChannel
from ottla.server.parking import Pending
from ottla.wire.errors import KafkaError
from ottla.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse


class ProducerIds:
    """While a block is on its way, those who want an id wait in line."""

    def __init__(self, channel: ControllerChannel, node_id: int, epoch: Callable[[], int]) -> None:
        self._channel = channel
        self._node_id = node_id
        self._epoch = epoch
        self._block: deque[int] = deque()
        self._waiting: deque[Pending] = deque()
        self._refusal: KafkaError | None = None

    def next(self) -> int | Pending:
        """An id, or a Pending that is completed with one or with a KafkaError. KafkaError: refused at once."""
        if self._block and not self._waiting:
            return self._block.popleft()
        pending = Pending(stops_line=True)
        self._waiting.append(pending)
        if len(self._waiting) == 1:
            self._refusal = None
            self._allocate()
            if self._refusal is not None:
                raise self._refusal
        return pending

    def _allocate(self) -> None:
        request = AllocateProducerIdsRequest(broker_id=self._node_id, broker_epoch=self._epoch())
        self._channel.ask(request, None, self._granted)

    def _granted(self, response: AllocateProducerIdsResponse | None, error: KafkaError | None) -> None:
        if response is not None:
            first = response.producer_id_start
            self._block.extend(range(first, first + response.producer_id_len))
        if error is not None and len(self._waiting) == 1 and self._waiting[0].place is None:
            self._waiting.clear()
            self._refusal = error  # whoever asked has not even returned
            return
        waiting, self._waiting = self._waiting, deque()
        while waiting and (self._block or error is not None):
            waiting.popleft().complete(self._block.popleft() if error is None else error)
        self._waiting = waiting
        if waiting:
            self._allocate()  # more are in line than a block has ids
