"""Which configuration keys take effect: those that some code of the package reads.

A key is read where its attribute is used, or where it stands by its name, outside of the declarations and of the checks
that compare keys with each other. A broker's key is read as well if it stands in for one of a topic or a group that is,
or bounds one.
Reads source code and nothing else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ottla.config.broker import BrokerConfig
from ottla.config.declared.client_metrics import ClientMetricsKeys
from ottla.config.declared.group import GroupConfigKeys
from ottla.config.declared.topic import TopicConfigKeys
from ottla.config.group import BOUNDED, bounds

KEY_SETS = (BrokerConfig, TopicConfigKeys, GroupConfigKeys, ClientMetricsKeys)
PACKAGE = Path(__file__).resolve().parent.parent / "ottla"
CONFIG = "config/"
# They know of every key, and do nothing with it.
DECLARING = tuple(
    CONFIG + name for name in ("declared/", "cross_checks.py", "group.py", "describe.py", "alter.py", "dynamic.py")
)
# Keys of tiered storage are compared with each other, but nothing is stored there.
TIERED = re.compile(r"^remote\.|local\.retention")
# Read by a function that stands among the checks, and is called by those who act on it.
READ_AMONG_CHECKS = frozenset({"max.connections.per.ip.overrides"})
# Something else in the package has the attribute of the key.
NAMESAKES = frozenset({"request.timeout.ms"})


@cache
def words() -> frozenset[str]:
    """Every attribute that is read in the package, and every text."""
    return frozenset(word for path in sorted(PACKAGE.rglob("*.py")) for word in _words(path))


def _words(path: Path) -> Iterator[str]:
    """In the layer of configuration a text is the name of a key and says nothing of its use."""
    place = path.relative_to(PACKAGE).as_posix()
    if place.startswith(DECLARING):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not place.startswith(CONFIG):
            yield node.value


@cache
def effective() -> frozenset[str]:
    """The names of all keys that take effect."""
    read = {
        key.name for keys in KEY_SETS for key in keys.keys.values() if key.attribute in words() or key.name in words()
    }
    read = {name for name in read if name not in NAMESAKES and not TIERED.search(name)}
    stand_ins = {
        synonym for keys in KEY_SETS for key in keys.keys.values() if key.name in read for synonym in key.synonyms
    }
    bounding = {bound for name in BOUNDED if name in read for bound in bounds(name) if bound is not None}
    return frozenset(read | stand_ins | bounding | READ_AMONG_CHECKS)
