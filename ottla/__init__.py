"""Ottla: a Kafka broker that you pip install.

This file holds the version and nothing else, so that importing any part of the package costs only that part.
"""

from __future__ import annotations

__version__ = "0.1.0"
