"""What is wrong with a partition's files, and what to do about each: the result of `ottla log verify`.

A finding is damage, or a note about something that is harmless. Of many findings in one file that call for the same
thing the first few are kept and the rest counted: a million wrong index entries are one piece of news.
"""

from __future__ import annotations

from typing import NamedTuple

ALIKE_MAX = 3

REBUILD_INDEX = "stop the broker and run `ottla log rebuild-index` on the directory; the records are not affected"
REPLICA = (
    "if the partition has other replicas, stop this broker, remove the partition's directory and start it again: it "
    "fetches all from the leader; else `ottla log dump --records` shows what can still be read"
)
TORN_TAIL = (
    "usual after a crash or while a broker is running: after an unclean stop the broker cuts the log there when it "
    "starts; what was acknowledged is fetched again from the leader if there is one"
)
REMOVE_FILE = "stop the broker and remove the file: it is built anew from the log at the next start"
REBUILT_AT_START = "nothing needs to be done: the broker builds it anew from the log when it starts"
NOTHING = "nothing needs to be done"


class Finding(NamedTuple):
    """`position` is the byte in the file, where one can be named."""

    path: str
    position: int | None
    what: str
    remedy: str
    is_damage: bool


class Findings:
    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.alike_counts: dict[tuple[str, str], int] = {}

    def damage(self, path: str, position: int | None, what: str, remedy: str) -> None:
        self._add(Finding(path, position, what, remedy, is_damage=True))

    def note(self, path: str, what: str, remedy: str = NOTHING) -> None:
        self._add(Finding(path, None, what, remedy, is_damage=False))

    def _add(self, finding: Finding) -> None:
        key = finding.path, finding.remedy
        count = self.alike_counts[key] = self.alike_counts.get(key, 0) + 1
        if count <= ALIKE_MAX:
            self.found.append(finding)

    def more_like(self, finding: Finding) -> int:
        """How many more there are of the kind, if this is the last one that was kept; else 0."""
        key = finding.path, finding.remedy
        kept = [other for other in self.found if (other.path, other.remedy) == key]
        return self.alike_counts[key] - len(kept) if kept[-1] is finding else 0

    @property
    def damage_count(self) -> int:
        damaged = {(finding.path, finding.remedy) for finding in self.found if finding.is_damage}
        return sum(self.alike_counts[key] for key in damaged)
