"""A log's epochs as the rules about diverging logs ask for them."""

from __future__ import annotations

from ottla.cluster.log_divergence import EpochEnd
from ottla.server.replica_epochs import LogEpochs
from tests.storage.batches import NOW_MS, batch, opened
from tests.storage.fake_disk import FakeDisk


def test_the_end_of_an_epoch_is_where_the_next_begins() -> None:
    log = opened(FakeDisk())
    log.append(batch(3), leader_epoch=1, now_ms=NOW_MS)
    log.append(batch(2), leader_epoch=4, now_ms=NOW_MS)
    epochs = LogEpochs(log)
    assert epochs.end_of(1) == EpochEnd(1, 3)
    assert epochs.end_of(3) == EpochEnd(1, 3)
    assert epochs.end_of(4) == EpochEnd(4, 5)
    assert epochs.end_of(5) == EpochEnd(-1, -1)
