"""Files and directories on their way out."""

from __future__ import annotations

from ottla.storage.removal_queue import RemovalQueue
from tests.storage.fake_disk import FakeDisk


def disk_with(*paths: str) -> FakeDisk:
    disk = FakeDisk()
    for path in paths:
        disk.make_directory(path.rpartition("/")[0] or "/")
        disk.open(path, create=True)
    return disk


def run_due(queue: RemovalQueue, now_ms: int) -> None:
    for deletion in queue.take_due(now_ms):
        deletion.run()


def test_nothing_goes_before_its_time() -> None:
    disk = disk_with("/p/1.deleted", "/p/2.deleted", "/q-delete/x")
    queue = RemovalQueue(disk)
    assert len(queue) == 0
    queue.add_directory(20, "/q-delete")
    queue.add_files(10, ["/p/1.deleted", "/p/2.deleted"])
    assert (len(queue), queue.next_due_ms) == (2, 10)
    run_due(queue, 9)
    assert len(disk.files()) == 3
    run_due(queue, 10)
    assert list(disk.files()) == ["/q-delete/x"]
    run_due(queue, 99)
    assert not disk.exists("/q-delete")
    assert queue.next_due_ms is None


def test_what_is_gone_already_is_no_matter() -> None:
    disk = disk_with("/p/2")
    queue = RemovalQueue(disk)
    queue.add_files(0, ["/p/1", "/p/2"])
    queue.add_directory(0, "/q")
    run_due(queue, 0)
    assert disk.files() == {}


def test_files_of_a_directory_that_goes_as_a_whole_are_forgotten() -> None:
    """Its name may mean another partition by then."""
    queue = RemovalQueue(disk_with())
    queue.add_files(10, ["/p/1"])
    queue.add_files(5, ["/q/1"])
    queue.add_directory(20, "/p")
    queue.forget_files_in("/p")
    assert [deletion.files or deletion.directory for deletion in queue.take_due(99)] == [("/q/1",), "/p"]
