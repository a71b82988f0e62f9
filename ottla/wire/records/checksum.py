"""CRC-32C, from the C extension of the `crc32c` distribution, without the package around it.

The package loads importlib.metadata and a command line when it is imported: thirty milliseconds and more, half of what
all of `wire` may take. So the extension module is loaded alone, and the package only where it has no such module.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from ottla.wire.compression import Buffer

PACKAGE = "crc32c"


def load(extension: str) -> ModuleType:
    """The extension module of this name inside the package, or the package if there is none."""
    package = PathFinder.find_spec(PACKAGE)
    spec = PathFinder.find_spec(extension, package.submodule_search_locations if package else [])
    return _load_alone(spec) if spec else import_module(PACKAGE)


def _load_alone(spec: ModuleSpec) -> ModuleType:
    assert spec.loader is not None, spec
    module = spec.loader.create_module(spec)
    assert module is not None, spec
    spec.loader.exec_module(module)
    return module


# crc32c(data, value=0): the checksum of data, continued from that of what came before it.
crc32c: Callable[[Buffer, int], int] = load("_crc32c").crc32c
