"""Settings are values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from ottla.client.settings import Settings


def test_an_answer_to_a_fetch_fits_the_frame_limit() -> None:
    assert Settings().frame_bytes_max >= 2 * 50 * 1024 * 1024


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().client_id = "other"  # type: ignore[misc]
