"""Ids that nobody takes for an option, nor for something else."""

from __future__ import annotations

import pytest

from ottla.server import random_ids
from ottla.wire.primitives import uuid_bytes, uuid_text


def test_ids_with_a_meaning_or_a_dash_are_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = uuid_bytes("w1Fnny0-QUmW_4dUbn5o9g")
    drawn = [bytes(16), bytes(15) + b"\1", bytes(15) + b"\x64", uuid_bytes("-1Fnny0-QUmW_4dUbn5o9g"), fit]
    monkeypatch.setattr(random_ids.secrets, "token_bytes", lambda size: drawn.pop(0))
    assert random_ids.random_id() == fit
    assert drawn == []


def test_ids_differ() -> None:
    assert len({uuid_text(random_ids.random_id()) for _ in range(100)}) == 100
