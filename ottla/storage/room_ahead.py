"""How much room on the disk a log takes ahead of its end.

Where the file system finds room for each page that is written, that is a sixth to a third of what writing costs, and
logs that grow side by side lie in many pieces. So a log that grows has some reserved at a time: an eighth of what it
has, up to a bound, and only from a disk that has far more than that. What is left over is given back when a segment is
finished; until then logs take an eighth more than they hold, at most.
"""

from __future__ import annotations

# Smaller logs take none: to reserve less than a megabyte costs more than it saves. And nobody takes more than that.
SIZE_BYTES_MIN = 8 << 20
AHEAD_BYTES_MAX = 8 << 20
SHARE = 8
# So many times that must be free.
FREE_TIMES_MIN = 100


def room_ahead(size_bytes: int, free_bytes: int) -> int:
    """For a file that has grown to this size, which is not a small one; 0 for none."""
    wanted_bytes = min(size_bytes // SHARE, AHEAD_BYTES_MAX)
    return wanted_bytes if wanted_bytes * FREE_TIMES_MIN <= free_bytes else 0
