"""What a test is told when its broker cannot do what it was asked for."""

from __future__ import annotations


class BrokerError(Exception):
    """The broker did not start, has ended, or refused: a sentence says which, and why."""
