"""A node in this process: what it starts, what it holds, and that nothing of it is left."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from ottla.client.cluster import Cluster
from ottla.cluster.bootstrap import (
    BOOTSTRAP_FILE_NAME,
    METADATA_LOG_DIRECTORY,
    bootstrap_checkpoint,
    feature_records,
)
from ottla.cluster.features import METADATA_VERSION_MAX, VersionRange, default_levels
from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server import later, running_node
from ottla.server import node as node_module
from ottla.server.node import Node, StartError, own_host_name, serve
from ottla.server.quorum import QuorumFailed
from ottla.storage.clean_shutdown import FILE_NAME as CLEAN_MARKER
from ottla.storage.directory_identity import LogDirectoryError
from ottla.storage.files import OsDisk
from ottla.storage.meta_properties import read_meta_properties
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from ottla.wire.messages.features import UpdateFeaturesRequest
from ottla.wire.messages.group_admin import ListGroupsRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.server.world import in_trio
from tests.storage.fake_disk import FakeDisk


def config_of(path: Path, **settings: str) -> BrokerConfig:
    texts = {"log.dirs": str(path), "listeners": "PLAINTEXT://127.0.0.1:0"}
    return load(texts | {key.replace("_", "."): value for key, value in settings.items()}, {}).config


@asynccontextmanager
async def running(path: Path, **settings: str) -> AsyncIterator[Node]:
    """A node that serves, told to stop at the end of the block."""
    node = Node(config_of(path, **settings))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.run)
        await node.ready.wait()
        yield node
        nursery.cancel_scope.cancel()


def only_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found


def is_locked(path: Path) -> bool:
    try:
        OsDisk().lock(str(path / ".lock")).release()
    except BlockingIOError:
        return True
    return False


@in_trio
async def test_a_node_starts_serves_and_stops_cleanly(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        (advertised,) = node.advertised()
        assert advertised.port == node.bound[0].port > 0
        async with Cluster(f"127.0.0.1:{advertised.port}") as cluster:
            known = await cluster.refreshed(())
            assert known.cluster_id == node.cluster_id
        assert is_locked(tmp_path)
        assert not (tmp_path / CLEAN_MARKER).exists()
    assert (tmp_path / CLEAN_MARKER).exists()
    assert not is_locked(tmp_path)
    with socket.create_server(("127.0.0.1", advertised.port)):
        pass  # nobody listens there any more


@in_trio
async def test_segments_get_the_descriptors_that_connections_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "open_segments_max", lambda: 10)
    asked: list[int] = []
    opened = node_module.LogDirectories.open

    def note(*args: Any, open_segments_max: int, **options: Any) -> Any:
        asked.append(open_segments_max)
        return opened(*args, open_segments_max=open_segments_max, **options)

    monkeypatch.setattr(node_module.LogDirectories, "open", note)
    async with running(tmp_path):
        assert asked == [10]


@in_trio
async def test_a_second_life_is_the_same_node_of_the_same_cluster(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        first = node.cluster_id
    async with running(tmp_path) as node:
        assert node.cluster_id == first
    with pytest.RaisesGroup(LogDirectoryError, flatten_subgroups=True):
        async with running(tmp_path, cluster_id="AAAAAAAAAAAAAAAAAAAAAA"):
            pytest.fail("it has started")
    assert not is_locked(tmp_path)


@in_trio
async def test_a_given_cluster_id_is_taken(tmp_path: Path) -> None:
    async with running(tmp_path, cluster_id="AAAAAAAAAAAAAAAAAAAAAQ") as node:
        assert node.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"
    meta = read_meta_properties(OsDisk(), str(tmp_path))
    assert meta is not None
    assert meta.cluster_id == "AAAAAAAAAAAAAAAAAAAAAQ"


@in_trio
async def test_a_port_in_use_is_named_and_nothing_stays_locked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError) as refused:
            await Node(
                config_of(tmp_path, listeners=f"FIRST://127.0.0.1:0,PLAINTEXT://127.0.0.1:{port}", **MAPPED)
            ).run()
    assert str(refused.value) == f"listener PLAINTEXT cannot listen on 127.0.0.1:{port}: Address already in use"
    assert not is_locked(tmp_path)


MAPPED = {"listener_security_protocol_map": "FIRST:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}


@in_trio
async def test_a_host_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"listener PLAINTEXT cannot listen on no\.such\.host\.invalid:0: "):
        await Node(config_of(tmp_path, listeners="PLAINTEXT://no.such.host.invalid:0")).run()


@in_trio
@pytest.mark.parametrize("is_in_log_dirs", [True, False])
async def test_the_metadata_log_may_live_elsewhere(tmp_path: Path, is_in_log_dirs: bool) -> None:
    logs, home = tmp_path / "logs", tmp_path / "metadata"
    paths = f"{logs},{home}" if is_in_log_dirs else str(logs)
    for _ in range(2):
        async with running(logs, log_dirs=paths, metadata_log_dir=str(home)) as node:
            assert is_locked(home)
            assert (home / METADATA_LOG_DIRECTORY).exists()
            assert not (logs / METADATA_LOG_DIRECTORY).exists()
            meta = read_meta_properties(OsDisk(), str(home))
            assert meta is not None
            assert meta.cluster_id == node.cluster_id
        assert not is_locked(home)
    assert (logs / CLEAN_MARKER).exists()


@in_trio
async def test_a_metadata_directory_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    paths = f"{tmp_path / 'logs'},{tmp_path / 'file'}"
    with pytest.raises(LogDirectoryError, match="metadata log's directory cannot be used"):
        await Node(config_of(tmp_path, log_dirs=paths, metadata_log_dir=str(tmp_path / "file"))).run()
    assert not is_locked(tmp_path / "logs")


@in_trio
@pytest.mark.parametrize("operation", ["write", "sync"])
async def test_a_node_that_failed_is_not_said_to_have_stopped_cleanly(operation: str) -> None:
    disk = FakeDisk()
    node = Node(config_of(Path("/data")), disk)
    failed: list[BaseException] = []
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.run)
            await node.ready.wait()
            disk.fail(operation, f"*{METADATA_LOG_DIRECTORY}/*.log", forever=True)
            await create_topic(node)
            await trio.sleep_forever()
    except* QuorumFailed as group:
        failed.append(only_cause(group))
    assert len(failed) == 1
    assert f"/data/{CLEAN_MARKER}" not in disk.files()
    disk.lock("/data/.lock").release()


async def create_topic(node: Node) -> Any:
    """Ask for a topic; there may be no answer."""
    topic = CreateTopicsRequest.CreatableTopic(
        name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    async with Cluster(f"127.0.0.1:{node.bound[0].port}") as cluster:
        try:
            return await cluster.request(CreateTopicsRequest(topics=[topic], timeout_ms=1000), timeout_ms=20_000)
        except KafkaError as error:
            return error


@in_trio
async def test_a_start_that_fails_half_way_gives_everything_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise LogDirectoryError("no")

    monkeypatch.setattr(node_module.LogDirectories, "load", refuse)
    with pytest.RaisesGroup(LogDirectoryError, flatten_subgroups=True):
        await Node(config_of(tmp_path)).run()
    assert not is_locked(tmp_path)
    monkeypatch.undo()
    async with running(tmp_path):
        pass


@in_trio
async def test_serve_says_when_clients_are_served_and_when_all_is_loaded(tmp_path: Path) -> None:
    started: list[Node] = []
    async with trio.open_nursery() as nursery:

        def note(node: Node) -> None:
            assert node.ready.is_set()
            started.append(node)

        def end() -> None:
            assert started[0].loaded.is_set()
            nursery.cancel_scope.cancel()

        nursery.start_soon(serve, config_of(tmp_path), note, end)
    assert len(started) == 1
    assert (tmp_path / CLEAN_MARKER).exists()


@in_trio
async def test_what_is_asked_for_before_it_is_loaded_is_loaded_for_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "PATIENCE_SECONDS", 3600.0)
    async with running(tmp_path) as node:
        async with Cluster(f"127.0.0.1:{node.bound[0].port}") as cluster:
            await cluster.refreshed(())  # asks for ApiVersions, which tell of everything
            assert node.loaded.is_set()
            found = await cluster.request(FindCoordinatorRequest(coordinator_keys=["g"]))
            assert [each.key for each in found.coordinators] == ["g"]
            listed = await cluster.request(ListGroupsRequest())
        assert listed.error_code == ErrorCode.NONE
    assert (tmp_path / CLEAN_MARKER).exists()


@in_trio
async def test_metadata_are_answered_by_a_node_that_has_loaded_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(later, "PATIENCE_SECONDS", 3600.0)
    async with running(tmp_path) as node:
        stream = await trio.open_tcp_stream("127.0.0.1", node.bound[0].port)
        async with stream:
            await stream.send_all(bytes.fromhex("0000000e 0003 0001 00000007 0000 00000000".replace(" ", "")))
            assert (await stream.receive_some())[4:8] == bytes((0, 0, 0, 7))
        assert not node.loaded.is_set()
    assert (tmp_path / CLEAN_MARKER).exists()  # nor does it need the rest in order to stop


@in_trio
async def test_a_stop_that_does_not_reach_the_disk_is_not_called_clean(caplog: pytest.LogCaptureFixture) -> None:
    disk = FakeDisk()
    node = Node(config_of(Path("/data")), disk)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node.run)
        await node.ready.wait()
        disk.fail("sync", f"*{METADATA_LOG_DIRECTORY}/*index", forever=True)
        disk.fail("create", f"*{CLEAN_MARKER}*", forever=True)
        nursery.cancel_scope.cancel()
    assert "the metadata log cannot be closed" in caplog.text
    assert "this was no clean stop" in caplog.text
    assert f"/data/{CLEAN_MARKER}" not in disk.files()


# What is not served yet is said, and not done halfway


ELSEWHERE = {"controller_quorum_bootstrap_servers": "127.0.0.1:9093"}


@in_trio
async def test_who_asks_for_an_authorizer_is_not_served_without_one(tmp_path: Path) -> None:
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    with pytest.raises(
        StartError, match=r"authorizer\.class\.name is .*StandardAuthorizer; no authorizer is served yet"
    ):
        await Node(config_of(tmp_path, **{"authorizer.class.name": name})).run()


@in_trio
async def test_a_listener_that_asks_for_more_than_plaintext_is_refused(tmp_path: Path) -> None:
    """Nothing is worse than a port that is taken for an encrypted one."""
    with pytest.raises(StartError, match="listener FIRST is to speak SSL; only PLAINTEXT is served yet"):
        await Node(config_of(tmp_path, listeners="FIRST://127.0.0.1:0,PLAINTEXT://127.0.0.1:0", **ENCRYPTED)).run()
    assert not is_locked(tmp_path)


ENCRYPTED = {"listener_security_protocol_map": "FIRST:SSL,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"}


@in_trio
async def test_a_metadata_log_of_another_quorum_is_refused(tmp_path: Path) -> None:
    """As Kafka leaves one whose voters stand in its configuration."""
    partition = tmp_path / METADATA_LOG_DIRECTORY
    partition.mkdir()
    (partition / f"{0:020}.log").write_bytes(b"")
    with pytest.RaisesGroup(pytest.RaisesExc(StartError, match="nobody is named who votes"), flatten_subgroups=True):
        await Node(config_of(tmp_path)).run()
    assert not is_locked(tmp_path)


def test_a_listener_without_a_host_is_advertised_by_the_name_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    config = load({"listeners": "PLAINTEXT://:9092", "log.dirs": "unused"}, {}).config
    (advertised,) = Node(config).advertised()
    assert (advertised.host, advertised.port) == ("localhost", 9092)


def test_a_name_that_nobody_can_find_is_not_advertised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "nowhere.invalid")

    def unknown(*address: object) -> list[object]:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert own_host_name() == "localhost"


QUORUM_OF_ONE = {
    "controller_quorum_voters": "1@127.0.0.1:9093",
    "controller_listener_names": "CONTROLLER",
    "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "node_id": "1",
}


async def finalized_features(node: Node) -> dict[str, int]:
    (advertised,) = node.advertised()
    async with Cluster(f"127.0.0.1:{advertised.port}") as cluster:
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        response = await cluster.request(request)
        return {one.name: one.max_version_level for one in response.finalized_features}


@in_trio
async def test_voters_may_stand_in_the_configuration(tmp_path: Path) -> None:
    for _ in range(2):
        async with running(tmp_path, **QUORUM_OF_ONE) as node:
            assert await finalized_features(node) == {
                "metadata.version": METADATA_VERSION_MAX,
                "eligible.leader.replicas.version": 1,
                "group.version": 1,
            }


@in_trio
async def test_a_feature_that_a_directory_was_formatted_without_stays_off_until_it_is_raised(tmp_path: Path) -> None:
    """As a release that did not serve it formats one, and as `kafka-storage format --feature group.version=0` does."""
    (tmp_path / BOOTSTRAP_FILE_NAME).write_bytes(bootstrap_checkpoint(feature_records({}), timestamp=0))
    async with running(tmp_path) as node:
        assert "group.version" not in await finalized_features(node)
        (advertised,) = node.advertised()
        update = UpdateFeaturesRequest.FeatureUpdateKey(feature="group.version", max_version_level=1, upgrade_type=1)
        async with Cluster(f"127.0.0.1:{advertised.port}") as cluster:
            response = await cluster.request(UpdateFeaturesRequest(feature_updates=[update], timeout_ms=60_000))
        assert response.error_code == 0
        assert (await finalized_features(node))["group.version"] == 1
    async with running(tmp_path) as node:
        assert (await finalized_features(node))["group.version"] == 1


@in_trio
async def test_features_that_are_found_and_not_served_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As Kafka's storage tool formats a directory."""
    levels = default_levels()
    everything = {name: VersionRange(0, level) for name, level in levels.items()}
    (tmp_path / BOOTSTRAP_FILE_NAME).write_bytes(bootstrap_checkpoint(feature_records(everything), timestamp=0))
    for _ in range(2):
        async with running(tmp_path) as node:
            assert await finalized_features(node) == levels
    unserved = set(levels) - set(running_node.FEATURES)
    kept = [message for message in caplog.messages if "kept but not served" in message]
    assert len(kept) == 2 * len(unserved)
    assert f"share.version is at level {levels['share.version']}, which is kept but not served" in kept


@pytest.mark.parametrize(
    ("advertised", "host", "port"),
    [("", "127.0.0.1", None), ("PLAINTEXT://one:1,CONTROLLER://two:2", "two", 2)],
)
def test_controllers_are_reached_where_they_say(tmp_path: Path, advertised: str, host: str, port: int | None) -> None:
    settings = {
        "log.dirs": str(tmp_path),
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "controller.listener.names": "CONTROLLER",
        **({"advertised.listeners": advertised} if advertised else {}),
    }
    node = Node(load(settings, {}).config)
    node._bind()
    try:
        (endpoint,) = node.controller_endpoints()
        bound = next(one.port for one in node.bound if one.config.name == "CONTROLLER")
        assert endpoint == ("CONTROLLER", host, bound if port is None else port)
    finally:
        node._unbind()
