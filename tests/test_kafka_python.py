"""What kafka-python leaves open is nobody else's failure."""

from __future__ import annotations

import contextlib
import gc
import socket
import warnings

from kafka.net.inet import KafkaNetSocket
from kafka.net.selector import NetworkSelector

from tests import kafka_python


def test_a_socket_that_it_leaves_to_the_garbage_collector_is_closed_without_a_warning() -> None:
    """As when a client is closed that has just begun to connect."""
    assert kafka_python.kafka, "or its sockets are the usual ones"
    with (
        contextlib.closing(NetworkSelector()) as loop,
        socket.create_server(("127.0.0.1", 0)) as server,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        place = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", server.getsockname())
        under_way = KafkaNetSocket().connect(loop, place)
        with contextlib.suppress(StopIteration):
            under_way.send(None)
        under_way.close()
        del under_way
        gc.collect()
    assert [str(one.message) for one in warned] == []
