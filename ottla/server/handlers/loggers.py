"""Levels of the broker's own loggers, read and set while it runs (KIP-412). They are kept nowhere.

Loggers are Python's, below `ottla`, and the root; levels have Kafka's names. TRACE is as DEBUG, and FATAL is CRITICAL.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ottla.config.alter import Operation
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import IncrementalAlterConfigsRequest

ROOT = "root"
OURS = "ottla"

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}

Alteration = IncrementalAlterConfigsRequest.AlterableConfig


def levels() -> dict[str, str]:
    """Every logger of ours with the level that it works at, the root first."""
    return {name: _name(logger.getEffectiveLevel()) for name, logger in _loggers().items()}


def _loggers() -> dict[str, logging.Logger]:
    known = logging.root.manager.loggerDict
    ours = sorted(name for name in known if name == OURS or name.startswith(f"{OURS}."))
    found = {name: known[name] for name in ours}
    return {ROOT: logging.root} | {name: one for name, one in found.items() if isinstance(one, logging.Logger)}


def _name(level: int) -> str:
    """The highest of Kafka's levels that is not above this one."""
    fitting = [name for name, number in _LEVELS.items() if number <= level]
    return fitting[-1] if fitting else "DEBUG"


def alter(alterations: Iterable[Alteration], *, validate_only: bool) -> None:
    """Set levels, all of them or none."""
    known = _loggers()
    changes = [_change(known, alteration) for alteration in alterations]
    if not validate_only:
        for change in changes:
            change()


def _change(known: dict[str, logging.Logger], alteration: Alteration) -> Callable[[], None]:
    name, operation, level = alteration.name, alteration.config_operation, alteration.value
    if operation not in (Operation.SET, Operation.DELETE):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"operation {operation} makes no sense for logger {name[:100]}")
    if name not in known:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"there is no logger {name[:100]}")
    if operation == Operation.DELETE:
        if name == ROOT:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "the root logger must have a level")
        return lambda: known[name].setLevel(logging.NOTSET)
    if level not in _LEVELS:
        allowed = ", ".join(_LEVELS)
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"the level of logger {name} must be one of {allowed}")
    return lambda: known[name].setLevel(_LEVELS[level])
