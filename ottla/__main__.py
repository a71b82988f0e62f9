"""`python -m ottla`: the command line, where the console script is not on the path."""

from __future__ import annotations

import sys

from ottla.cli import main

if __name__ == "__main__":
    sys.exit(main())
