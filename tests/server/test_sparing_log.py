"""A flood of lines is cut short and counted."""

from __future__ import annotations

import logging

import pytest

from ottla.server.sparing_log import LINES_PER_SECOND_MAX, SparingLog


def test_a_flood_is_cut_short_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = SparingLog(logging.getLogger("flood"))
    with caplog.at_level("INFO"):
        for number in range(1000):
            log.info(5.5, "line %d", number)
        assert len(caplog.messages) == LINES_PER_SECOND_MAX
        log.info(6.0, "another second")
        log.info(7.0, "and another")
    assert caplog.messages[LINES_PER_SECOND_MAX:] == [
        "980 more lines like these were left out",
        "another second",
        "and another",
    ]
