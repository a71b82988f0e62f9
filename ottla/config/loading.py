"""A node's configuration from what was set: completed, read, checked, with warnings for its owner.

    texts = merged(parse_properties(data, "server.properties"), parse_arguments(words))
    config, warnings = load(texts, os.environ)

What no key knows is a warning for the caller to print; a wrong value is a ConfigError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ottla.config.broker import BrokerConfig, Layers, is_known
from ottla.config.cross_checks import check
from ottla.config.quick_start import completed, filled_in


class Loaded(NamedTuple):
    """A configuration, and sentences for its owner."""

    config: BrokerConfig
    warnings: list[str]


def load(static: Mapping[str, str], environment: Mapping[str, str]) -> Loaded:
    """A node's configuration from what was set in its file and on its command line."""
    config = BrokerConfig(Layers(static=completed(static), filled=filled_in(static, environment)))
    return Loaded(config, [*unknown_keys(static), *check(config)])


def unknown_keys(names: Iterable[str]) -> list[str]:
    """A sentence for each name that no key has, with the one that may have been meant."""
    unknown = [name for name in names if not is_known(name)]
    return [f"{name} is not a key and has no effect{suggestion(name)}" for name in unknown]


def suggestion(name: str) -> str:
    from difflib import get_close_matches  # slow to import, and most files are right

    meant = get_close_matches(name, BrokerConfig.keys, n=1, cutoff=0.85)
    return f"; did you mean {meant[0]}?" if meant else ""
