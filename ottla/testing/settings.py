"""The settings of a broker for tests, from what Python programs write to what a properties file would say.

Keys are Kafka's, or the same with underscores for dots, so that they can be keywords. Whether they exist and what they
mean is known in `ottla.config`, which is not imported here: the broker itself says what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.testing.failures import BrokerError

Setting = str | int | float | bool

# A test wants to go on at once, and starts with a single member; fifty partitions for a few offsets would take longer
# than most tests.
DEFAULTS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "ottla.log.level": "WARN",
}
# What the broker of a test has from the test itself.
OURS = ("listeners", "advertised.listeners", "log.dirs", "log.dir")


def texts_of(settings: Mapping[str, Setting], keywords: Mapping[str, Setting]) -> dict[str, str]:
    """Every setting as the text that a properties file would hold; keywords win."""
    named = {**settings, **{name.replace("_", "."): value for name, value in keywords.items()}}
    for name in OURS:
        if name in named:
            raise BrokerError(f"{name} cannot be set: a broker for tests finds a port and a directory of its own")
    return DEFAULTS | {name: text_of(value) for name, value in named.items()}


def text_of(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
