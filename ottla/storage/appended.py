"""What became of a batch that a leader took: its offsets, and the time where the log gives it one."""

from __future__ import annotations

from operator import itemgetter
from typing import cast


class Appended(tuple[int, int, int, bool]):
    """What became of a batch. A duplicate has the offsets that it was given when it came first.

    There is one for each append: a bare tuple with names takes half the time of a named one.
    """

    __slots__ = ()

    first_offset = cast("int", property(itemgetter(0)))
    last_offset = cast("int", property(itemgetter(1)))
    append_time_ms = cast("int", property(itemgetter(2)))
    is_duplicate = cast("bool", property(itemgetter(3)))
