"""Whether a process is gone, as the system that it ran on says.

Only a refusal is proof. Who is slow, paused or cut off from us does not refuse, and nor does a machine that is gone.

A process that ends lets go of its sockets one after the other: a connection of its own may be closed while its port
still takes ours. So whoever is taken, and dropped again, looks once more.
"""

from __future__ import annotations

from typing import Any

import trio

PROBE_SECONDS_MAX = 3.0
LOOKS_MAX = 5
SECONDS_BETWEEN_LOOKS = 0.02


async def is_refused(host: str, port: int) -> bool:
    """Whether nobody listens there, and the system of that host says so."""
    with trio.move_on_after(PROBE_SECONDS_MAX):
        try:
            found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
        except (OSError, ValueError):  # ValueError: a name that no resolver would take
            return False
        for family, kind, protocol, _, address in found:
            if not await _refuses(address, family, kind, protocol):
                return False
        return bool(found)
    return False


async def _refuses(address: Any, *kind: int) -> bool:
    for _ in range(LOOKS_MAX):
        with trio.socket.socket(*kind) as probe:
            try:
                await probe.connect(address)
                if await probe.recv(1):
                    return False  # nobody speaks first here, but whoever does is there
            except ConnectionRefusedError:
                return True
            except ConnectionResetError:
                pass
            except OSError:
                return False
        await trio.sleep(SECONDS_BETWEEN_LOOKS)
    return False
