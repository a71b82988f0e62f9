"""kafka-python, as tests in whose process it runs import it: silent of what is its own affair.

It leaves a socket that has not yet connected when it is closed, or never could, to the garbage collector. Python warns
of that, here an error, in whichever test is running by then. So its sockets close themselves when they are collected.
"""

from __future__ import annotations

import socket
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of how it reads its own files
    import kafka
    from kafka.net.inet import KafkaNetSocket

__all__ = ["kafka"]


class ClosedWhenCollected(socket.socket):
    def __del__(self) -> None:
        self.close()


def opened(_: KafkaNetSocket, family: int, kind: int, protocol: int) -> socket.socket:
    return ClosedWhenCollected(family, kind, protocol)


KafkaNetSocket.socket = opened
