"""What scenarios are played on: a broker that is started for them, or one that is there already.

    ottla             a process of ours
    kafka-local       Apache Kafka from Maven's jars, a process
    kafka-container   Apache Kafka's image by testcontainers; $OTTLA_KAFKA_IMAGE names another
    external          whatever listens at $OTTLA_COMPAT_BOOTSTRAP

All that is started has one configuration, that of `side_by_side`, but for what scenarios want besides. Scenarios that
want something are not played on what is there already. $OTTLA_COMPAT_TARGET and $OTTLA_COMPAT_COMPARE
choose where no option does. What is started is gone at the end.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from compat_tests.scenarios.scenario import Scenario, Wants
from compat_tests.scenarios.stage import Place
from compat_tests.side_by_side import KafkaSide, OttlaSide, held_port

BOOTSTRAP = "OTTLA_COMPAT_BOOTSTRAP"
TARGET = "OTTLA_COMPAT_TARGET"
COMPARE = "OTTLA_COMPAT_COMPARE"
DEFAULT_COMPARE = ("ottla", "kafka-local")

Opener = Callable[[Path, Mapping[str, str]], contextlib.AbstractContextManager[str]]


class NoSuchTarget(Exception):
    """The name is none of those above, or what it needs is not there."""


@contextlib.contextmanager
def ottla(directory: Path, properties: Mapping[str, str]) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(held_port()) for _ in range(2)]
        side = OttlaSide(directory / "ottla", ports, properties)
        stack.callback(side.close)
        side.start()
        yield side.bootstrap


@contextlib.contextmanager
def kafka_local(directory: Path, properties: Mapping[str, str]) -> Iterator[str]:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(held_port()) for _ in range(2)]
        side = KafkaSide(directory / "kafka", ports, properties)
        stack.callback(side.close)
        side.start()
        yield side.bootstrap


@contextlib.contextmanager
def kafka_container(directory: Path, properties: Mapping[str, str]) -> Iterator[str]:
    from compat_tests.kafka_container import KafkaContainer  # testcontainers need not be there otherwise

    container = KafkaContainer()
    for key, value in properties.items():
        container.with_setting(key, value)
    with container:
        yield container.get_bootstrap_server()


@contextlib.contextmanager
def external(directory: Path, properties: Mapping[str, str]) -> Iterator[str]:
    address = os.environ.get(BOOTSTRAP)
    if not address:
        raise NoSuchTarget(f"the target `external` needs ${BOOTSTRAP}, as host:port")
    yield address


OPENERS: dict[str, Opener] = {
    "ottla": ottla,
    "kafka-local": kafka_local,
    "kafka-container": kafka_container,
    "external": external,
}


@contextlib.contextmanager
def opened(name: str, directory: Path, wants: Wants = ()) -> Iterator[Place]:
    """A target, ready to be played on. What outlives the run gets names of its own in it."""
    if name not in OPENERS:
        raise NoSuchTarget(f"{name!r} is no target; there are {', '.join(OPENERS)}")
    with OPENERS[name](directory, dict(wants)) as bootstrap:
        yield Place(bootstrap, run=f"run{secrets.token_hex(4)}-" if name == "external" else "")


def played_on(names: Sequence[str], scenarios: Iterable[Scenario]) -> list[Scenario]:
    """Those that can be: nobody sets the configuration of what is there already."""
    return [scenario for scenario in scenarios if not scenario.wants or "external" not in names]


def chosen(target: str | None, compare: str | None) -> tuple[str, ...]:
    """One target or two to compare, by the options, else by the environment, else Ottla and Apache Kafka."""
    target = target or (None if compare else os.environ.get(TARGET))
    if target:
        return (target,)
    compare = compare or os.environ.get(COMPARE)
    names = tuple(compare.split(",")) if compare else DEFAULT_COMPARE
    if len(names) != len(DEFAULT_COMPARE):
        raise NoSuchTarget(f"two targets can be compared, not {len(names)}: {compare}")
    return names
