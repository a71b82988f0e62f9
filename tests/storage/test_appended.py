"""What an append tells."""

from __future__ import annotations

from ottla.storage.appended import Appended


def test_what_an_append_tells_has_names() -> None:
    appended = Appended((5, 7, 1000, True))
    assert (appended.first_offset, appended.last_offset, appended.append_time_ms) == (5, 7, 1000)
    assert appended.is_duplicate
    assert not hasattr(appended, "__dict__"), "there is one for each append"
