"""So many segments may be open: those that nobody used since the last round go first."""

from __future__ import annotations

from ottla.storage.open_files import OpenFiles


class Opened:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name = name
        self.touched = True
        self._log = log

    def release(self) -> None:
        self._log.append(self.name)


def test_nothing_is_released_up_to_the_bound() -> None:
    released: list[str] = []
    open_files = OpenFiles(segments_max=3)
    for name in "abc":
        open_files.opened(Opened(name, released))
    assert released == []


def test_the_oldest_goes_when_all_are_in_use_and_never_the_new_one() -> None:
    released: list[str] = []
    open_files = OpenFiles(segments_max=2)
    for name in "abcd":
        open_files.opened(Opened(name, released))
    assert released == ["a", "b"]
    assert [segment.name for segment in open_files.line if isinstance(segment, Opened)] == ["c", "d"]


def test_a_segment_that_was_used_since_gets_a_second_chance() -> None:
    released: list[str] = []
    open_files = OpenFiles(segments_max=2)
    first, second = Opened("a", released), Opened("b", released)
    open_files.opened(first)
    open_files.opened(second)
    second.touched = False
    open_files.opened(Opened("c", released))
    assert released == ["b"]
    assert first.touched is False


def test_one_open_segment_is_enough() -> None:
    released: list[str] = []
    open_files = OpenFiles(segments_max=1)
    for name in "abc":
        open_files.opened(Opened(name, released))
    assert released == ["a", "b"]
