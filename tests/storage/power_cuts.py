"""Power cuts on the fake disk in random histories, also while the log is being recovered. One seed is one run.

A history lives until the power goes in the middle of an operation on the disk, or until its process is killed, or it is
closed. Then it is opened again, recovery_checks.py looks at what is left, and it goes on with that.

To run one again: `python -m tests.storage.power_cuts SEED`.
"""

from __future__ import annotations

import sys
from random import Random

from ottla.storage.offset_checkpoint import LOG_START_OFFSETS, RECOVERY_POINTS
from ottla.wire.errors import KafkaError
from tests.storage import recovery_checks
from tests.storage.fake_disk import FakeDisk, PowerCut
from tests.storage.histories import History, blame_disk

STEPS_PER_LIFE_MAX = 60
OPERATIONS_PER_LIFE_MAX = 250
NEVER = 1 << 60


def run_history(seed: int, lives: int = 3) -> None:
    """Live until the power goes, look at what is left, and go on with that."""
    random = Random(seed)
    disk = FakeDisk(seed)
    history = History(disk, random)
    for _ in range(lives):
        how = live(history, disk)
        after(history, disk, how)


def live(history: History, disk: FakeDisk) -> str:
    """Take steps until something ends it: returns "cut", "killed" or "closed"."""
    random = history.random
    if random.random() < 0.7:
        disk.crash_after(random.randint(1, OPERATIONS_PER_LIFE_MAX))
    else:
        disk.crash_after(NEVER)
    try:
        for _ in range(random.randint(1, STEPS_PER_LIFE_MAX)):
            try:
                history.step()
            except KafkaError as error:
                blame_disk(error, history.log)
            if history.log.failure is not None:
                recovery_checks.check_refuses(history.log, history.now_ms)
                # The kernel may still show what the disk never got: only a power cut tells what is there.
                return "cut"
        disk.heal()
        if random.random() < 0.3:
            history.close()
            return "closed"
        disk.crash_after(NEVER)
        return "cut" if random.random() < 0.6 else "killed"
    except PowerCut:
        return "cut"


def after(history: History, disk: FakeDisk, how: str) -> None:
    """Start again, perhaps several times, and look."""
    disk.heal()
    start_offset_max = history.log.start_offset
    if how != "killed":
        disk.crash()
    else:
        disk.kill()
    while how != "killed" and history.random.random() < 0.4:
        disk.crash_after(history.random.randint(1, 30))
        try:
            history.open()
            disk.crash()
            break
        except PowerCut:
            disk.crash()
    recovery_point = history.checkpointed(RECOVERY_POINTS)
    start_offset_max = max(start_offset_max, history.checkpointed(LOG_START_OFFSETS))
    history.open()
    version, outcome = recovery_checks.check_recovered(history, recovery_point, start_offset_max, is_whole=how != "cut")
    history.model.adopt(version, outcome, history.log.start_offset, history.log.recovery_point)
    check_second_recovery(history, disk)


def check_second_recovery(history: History, disk: FakeDisk) -> None:
    """Killed right after it has started, the broker starts with the same bytes again."""
    if history.directory.last_stop is not None:
        return
    before = {path: data for path, data in disk.files().items() if "/topic-0/" in path}
    disk.kill()
    history.open()
    after_it = {path: data for path, data in disk.files().items() if "/topic-0/" in path}
    changed = [path for path in before.keys() | after_it.keys() if before.get(path) != after_it.get(path)]
    assert changed == [], f"recovery run twice differs in {changed}"


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        run_history(int(argument))
