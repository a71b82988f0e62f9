"""The sets of voters and the kraft.version that the log has held, each from the offset of its record on (KIP-853).

A node uses the latest, committed or not; when the log is cut, what lay behind the cut is forgotten again. Where neither
a snapshot nor the log says anything, the voters are those of the configuration, and kraft.version is 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.raft_log import ControlRecord
from ottla.cluster.voters import KRAFT_VERSION_MIN, VoterSet

# Where the records of the bootstrap snapshot, which ends at offset 0, are said to lie.
BOOTSTRAP_OFFSET = -1


class VoterHistory:
    """Sets of voters and levels of kraft.version, oldest first."""

    def __init__(self, static_voters: VoterSet, records: Iterable[ControlRecord] = ()) -> None:
        self._static_voters = static_voters
        self._voters: list[tuple[int, VoterSet]] = []
        self._kraft_versions: list[tuple[int, int]] = []
        for record in records:
            self.add(record)

    def add(self, record: ControlRecord) -> None:
        """Records come in the order of the log."""
        if isinstance(record.value, VoterSet):
            assert not self._voters or self._voters[-1][0] < record.offset, record
            self._voters.append((record.offset, record.value))
        else:
            assert not self._kraft_versions or self._kraft_versions[-1][0] < record.offset, record
            self._kraft_versions.append((record.offset, record.value))

    def truncate(self, end_offset: int) -> None:
        """The log has been cut so that it ends here."""
        self._voters = [entry for entry in self._voters if entry[0] < end_offset]
        self._kraft_versions = [entry for entry in self._kraft_versions if entry[0] < end_offset]

    def replace(self, records: Iterable[ControlRecord]) -> None:
        """A snapshot has taken the place of the log."""
        self._voters.clear()
        self._kraft_versions.clear()
        for record in records:
            self.add(record)

    @property
    def voters(self) -> VoterSet:
        return self._voters[-1][1] if self._voters else self._static_voters

    @property
    def voters_offset(self) -> int | None:
        """Where the latest set lies; None if it is that of the configuration."""
        return self._voters[-1][0] if self._voters else None

    @property
    def kraft_version(self) -> int:
        return self._kraft_versions[-1][1] if self._kraft_versions else KRAFT_VERSION_MIN

    def contenders(self, high_watermark: int) -> list[VoterSet]:
        """The set that is committed as far as this node knows, and those written after it, of which one may hold."""
        committed = sum(1 for offset, _ in self._voters if offset < high_watermark)
        return [self.voters] if not self._voters else [voters for _, voters in self._voters[max(0, committed - 1) :]]

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """The set that a snapshot up to this offset has to hold; None if the log says nothing of voters so far."""
        return next((voters for offset, voters in reversed(self._voters) if offset < end_offset), None)

    def kraft_version_at(self, end_offset: int) -> int:
        versions = (version for offset, version in reversed(self._kraft_versions) if offset < end_offset)
        return next(versions, KRAFT_VERSION_MIN)
