"""OttlaContainer before there is a container: variables, the script that starts it, and the way to testcontainers.

Containers themselves are started in compat_tests/containers.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.config.container import container_settings, key_of
from ottla.testing.container import OttlaContainer, variable_of

# docker-py wants to know where an engine would be, and does not ask there.
NOWHERE = {"base_url": "unix://nowhere.sock", "version": "1.41"}


class Unstarted(OttlaContainer):
    """What an engine would say of it."""

    def get_bootstrap_server(self) -> str:
        return "127.0.0.1:32768"

    def get_container_id(self) -> str:
        return "0123456789abcdef"


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> Unstarted:
    monkeypatch.setattr("testcontainers.core.container.DockerClient", lambda **_: None)
    return Unstarted()


@pytest.mark.parametrize("key", ["num.partitions", "ottla.log-level", "a_b.c-d", "listener.name.my_side.ssl.key"])
def test_a_variable_sets_the_key_it_was_made_for(key: str) -> None:
    assert key_of(variable_of(key)) == key


def test_settings_are_the_texts_that_kafka_reads(container: Unstarted) -> None:
    container.with_setting("auto.create.topics.enable", False).with_setting("num.partitions", 3)
    assert container.env["KAFKA_AUTO_CREATE_TOPICS_ENABLE"] == "false"
    assert container.env["KAFKA_NUM_PARTITIONS"] == "3"


def test_the_script_tells_where_the_host_and_the_network_find_it(container: Unstarted) -> None:
    export, start, last = container.start_script().splitlines()
    assert export == (
        "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT_HOST://127.0.0.1:32768,PLAINTEXT://0123456789ab:19092"
    )
    assert start == "exec /opt/ottla/bin/ottla serve --container"
    assert last == "# whole"


def test_its_variables_are_settings_that_start_a_node(container: Unstarted) -> None:
    name, value = container.start_script().splitlines()[0].removeprefix("export ").split("=")
    settings = container_settings({**container.env, name: value}, "host", {})
    from ottla.config.loading import load

    config, warnings = load(settings, {})
    assert warnings == []
    assert [listener.port for listener in config.broker_listeners] == [9092, 19092]


def test_without_testcontainers_the_error_names_the_remedy_and_the_rest_is_there() -> None:
    script = """
import sys
sys.modules["testcontainers"] = None
from ottla.testing import Broker
assert "testcontainers.core" not in sys.modules
try:
    from ottla.testing import OttlaContainer
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "OttlaContainer needs testcontainers: pip install 'ottla[containers]'\n"


def test_another_name_is_an_attribute_error() -> None:
    import ottla.testing

    with pytest.raises(AttributeError, match="Ottlacontainer"):
        ottla.testing.Ottlacontainer  # noqa: B018
