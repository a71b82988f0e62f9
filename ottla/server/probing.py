"""Whether a process is gone, as the system that it ran on says.

Only a refusal is proof. Who is slow, paused or cut off from us does not refuse, and nor does a machine that is gone.
"""

from __future__ import annotations

import trio

PROBE_SECONDS_MAX = 1.0


async def is_refused(host: str, port: int) -> bool:
    """Whether nobody listens there, and the system of that host says so."""
    with trio.move_on_after(PROBE_SECONDS_MAX):
        try:
            found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
        except (OSError, ValueError):  # ValueError: a name that no resolver would take
            return False
        for family, kind, protocol, _, address in found:
            with trio.socket.socket(family, kind, protocol) as probe:
                try:
                    await probe.connect(address)
                except ConnectionRefusedError:
                    continue
                except OSError:
                    return False
                return False
        return bool(found)
    return False
