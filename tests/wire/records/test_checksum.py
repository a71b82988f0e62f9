"""CRC-32C: the published values, continued, and without the package that carries it."""

from __future__ import annotations

import subprocess
import sys

from ottla.wire.records.checksum import crc32c, load


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789", 0) == 0xE3069283
    assert crc32c(memoryview(bytes(32)), 0) == 0x8A9136AA


def test_a_checksum_can_be_continued() -> None:
    assert crc32c(b"6789", crc32c(b"12345", 0)) == 0xE3069283


def test_the_package_serves_where_the_extension_has_another_name() -> None:
    assert load("no_such_extension").crc32c(b"123456789") == 0xE3069283


def test_the_package_around_the_extension_is_not_loaded() -> None:
    program = "import sys, ottla.wire.records; assert 'importlib.metadata' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, env={"PYTHONPATH": "."})
