"""Print an extra of pyproject.toml as a requirements file: `requirements.py dev`.

So pip installs what the gate needs without building Ottla first, and the pins stay in one place. Runs before anything
is installed: the standard library only.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def requirements(extra: str) -> list[str]:
    """The requirements of an extra, as pyproject.toml writes them."""
    with PYPROJECT.open("rb") as file:
        found: list[str] = tomllib.load(file)["project"]["optional-dependencies"][extra]
    return found


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
