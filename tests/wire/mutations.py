"""Damaged bytes from good ones, the same in every run of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

# Values that lengths and counts are likely to be wrong by.
_TELLING = (0, 1, 0x7F, 0x80, 0xFF)


def mutations(samples: Sequence[bytes], *, seed: int, count: int) -> Iterator[bytes]:
    """So many damaged copies of the samples, none of them empty: bytes changed, cut out, doubled, the end cut off."""
    luck = random.Random(seed)
    for _ in range(count):
        data = bytearray(luck.choice(samples))
        for _ in range(luck.randint(1, 4)):
            _damage(data, luck)
        yield bytes(data) or b"\0"


def _damage(data: bytearray, luck: random.Random) -> None:
    if not data:
        return
    # Headers decide most, so half of the damage is done among the first bytes.
    position = luck.randrange(min(len(data), 80) if luck.random() < 0.5 else len(data))
    kind = luck.random()
    if kind < 0.35:
        data[position] = luck.randrange(256)
    elif kind < 0.7:
        data[position] = luck.choice(_TELLING)
    elif kind < 0.8:
        del data[position : position + luck.randint(1, 8)]
    elif kind < 0.9:
        data[position:position] = data[position : position + luck.randint(1, 8)]
    else:
        del data[position:]
