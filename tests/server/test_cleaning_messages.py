"""What goes between a broker and the process that cleans for it arrives as it was sent."""

from __future__ import annotations

import pickle
from pathlib import Path

from ottla.server.cleaning_messages import Failure
from tests.server.cleaning_orders import dirty_log, order_for


def test_an_order_and_a_failure_survive_the_pipe(tmp_path: Path) -> None:
    order = order_for(dirty_log(tmp_path / "t-0"), bytes_per_second=1e6)
    assert pickle.loads(pickle.dumps(order)) == order
    failure = Failure("full", 28)
    assert pickle.loads(pickle.dumps(failure)) == failure
    assert Failure("damaged").errno is None
