"""Records to send: lines of a made-up access log, the same in every run.

They compress about as well as such lines do: words repeat, numbers and identifiers do not. Their sizes lie around the
one that is asked for, as sizes do: a broker that is fast with records of one size alone gains nothing. Files hold one
payload a line, for tools that read them so.
"""

from __future__ import annotations

import random
from pathlib import Path

FILE_BYTES = 4 << 20
SEED = 20
WORDS = ("GET", "POST", "orders", "customer", "session", "warehouse", "checkout", "timeout", "accepted", "refused")


def payload(luck: random.Random, size_bytes: int) -> bytes:
    text = ""
    while len(text) < size_bytes:
        text += f'{{"time":{luck.randrange(10**12)},"id":"{luck.getrandbits(64):016x}","kind":"{luck.choice(WORDS)}",'
        text += (
            f'"path":"/{luck.choice(WORDS)}/{luck.randrange(10**5)}/{luck.choice(WORDS)}","ms":{luck.random():.4f}}} '
        )
    return text[:size_bytes].encode("ascii")


def payloads(size_bytes: int) -> list[bytes]:
    """Different ones, enough that a batch does not repeat itself, of this size on average."""
    luck = random.Random(SEED)
    spread = size_bytes // 4
    sizes = [size_bytes + luck.randint(-spread, spread) for _ in range(max(100, FILE_BYTES // size_bytes))]
    return [payload(luck, size) for size in sizes]


def payload_file(directory: Path, size_bytes: int) -> Path:
    path = directory / f"payloads-{size_bytes}.txt"
    if not path.exists():
        path.write_bytes(b"\n".join(payloads(size_bytes)) + b"\n")
    return path
