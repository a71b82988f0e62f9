"""A broker for as long as a block lasts: what it serves, what it keeps between its lives, and that nothing is left."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import pytest
import trio

from ottla.client.failures import ConnectionLost
from ottla.testing import Broker, BrokerError
from ottla.testing.broker import Fault
from tests.testing.brokers import (
    a_client,
    a_connection,
    both_kinds,
    cluster_id,
    consume,
    partition_count,
    produce,
    try_to_produce,
)
from tests.testing.leftovers import SECONDS_MAX, a_program, nothing_left, wait_for_end


def listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


@both_kinds
def test_it_serves_inside_of_the_block_and_leaves_nothing(tmp_path: Path, in_thread: bool) -> None:
    with nothing_left(tmp_path):
        with Broker(in_thread=in_thread) as broker:
            broker.create_topic("t")
            produce(broker, "t", b"one", b"two")
            assert consume(broker, "t") == [b"one", b"two"]
            address = broker.bootstrap_servers
        assert not listens(address)
        assert not broker.is_running


@both_kinds
def test_a_test_that_fails_leaves_nothing(tmp_path: Path, in_thread: bool) -> None:
    with nothing_left(tmp_path), pytest.raises(ZeroDivisionError), Broker(in_thread=in_thread):
        raise ZeroDivisionError


@both_kinds
def test_a_broker_that_was_killed_leaves_nothing(tmp_path: Path, in_thread: bool) -> None:
    with nothing_left(tmp_path), Broker(in_thread=in_thread) as broker:
        broker.create_topic("t")
        broker.kill()


@both_kinds
def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path, in_thread: bool) -> None:
    with nothing_left(tmp_path):
        broker = Broker({"num.partitions": "many"}, in_thread=in_thread)
        with pytest.raises(BrokerError, match=r"num\.partitions"):
            broker.start()
        assert not broker.is_running


@both_kinds
def test_a_restart_keeps_address_and_data(in_thread: bool) -> None:
    with Broker(in_thread=in_thread) as broker:
        broker.create_topic("t")
        produce(broker, "t", b"before")
        address, cluster = broker.bootstrap_servers, cluster_id(broker)
        broker.restart()
        assert (broker.bootstrap_servers, cluster_id(broker)) == (address, cluster)
        produce(broker, "t", b"after")
        assert consume(broker, "t") == [b"before", b"after"]


@both_kinds
def test_a_killed_broker_answers_nobody_and_has_its_data_when_it_is_back(in_thread: bool) -> None:
    with Broker(in_thread=in_thread) as broker:
        broker.create_topic("t")
        with a_connection(broker) as connection:
            assert try_to_produce(connection, "t", b"kept") == 0
            broker.kill()
            assert not broker.is_running
            assert not listens(broker.bootstrap_servers)
            with pytest.raises(BrokerError, match="not running"):
                broker.create_topic("u")
        broker.start()
        assert consume(broker, "t") == [b"kept"]


@both_kinds
def test_a_stopped_broker_starts_again(in_thread: bool) -> None:
    with Broker(in_thread=in_thread) as broker:
        broker.create_topic("t")
        broker.stop()
        assert not broker.is_running
        broker.start()
        assert partition_count(broker, "t") == 1
        with pytest.raises(BrokerError, match="is running"):
            broker.start()


@both_kinds
def test_its_port_is_nobody_elses_while_it_is_down(in_thread: bool) -> None:
    with Broker(in_thread=in_thread) as broker:
        host, _, port = broker.bootstrap_servers.partition(":")
        broker.kill()
        if sys.platform == "linux":
            with socket.socket() as rival, pytest.raises(OSError, match="in use"):
                rival.bind((host, int(port)))
        broker.start()


def test_several_live_side_by_side_each_a_cluster(tmp_path: Path) -> None:
    with nothing_left(tmp_path), Broker() as one, Broker(in_thread=True) as two, Broker(in_thread=True) as three:
        brokers = (one, two, three)
        assert len({broker.bootstrap_servers for broker in brokers}) == 3
        assert len({cluster_id(broker) for broker in brokers}) == 3
        two.create_topic("t")
        produce(two, "t", b"here")
        one.kill()
        assert consume(two, "t") == [b"here"]
        with a_client(three) as client:
            assert "t" not in client.metadata().topics


@both_kinds
def test_settings_are_keys_or_keywords(in_thread: bool) -> None:
    with Broker({"num.partitions": 3}, in_thread=in_thread, auto_create_topics_enable=False) as broker:
        broker.create_topic("t", partitions=-1)
        assert partition_count(broker, "t") == 3


@both_kinds
def test_a_directory_that_was_given_is_kept(tmp_path: Path, in_thread: bool) -> None:
    for value in (b"one", b"two"):
        with Broker(in_thread=in_thread, directory=tmp_path / "data") as broker:
            if value == b"one":
                broker.create_topic("t")
            produce(broker, "t", value)
    with Broker(directory=tmp_path / "data") as broker:
        assert consume(broker, "t") == [b"one", b"two"]


@both_kinds
def test_it_can_be_used_in_asyncio(tmp_path: Path, in_thread: bool) -> None:
    async def main() -> None:
        async with Broker(in_thread=in_thread) as broker:
            broker.create_topic("t")
            assert await asyncio.to_thread(partition_count, broker, "t") == 1

    with nothing_left(tmp_path):
        asyncio.run(main())


@both_kinds
def test_it_can_be_used_in_trio(tmp_path: Path, in_thread: bool) -> None:
    async def main() -> None:
        async with Broker(in_thread=in_thread) as broker:
            broker.create_topic("t")  # blocks for a moment, and nobody minds
            assert broker.is_running

    with nothing_left(tmp_path):
        trio.run(main)


def test_a_second_close_does_nothing(tmp_path: Path) -> None:
    with nothing_left(tmp_path):
        broker = Broker(in_thread=True)
        broker.close()
        broker.start()
        broker.close()
        broker.close()
        with pytest.raises(BrokerError, match="no address"):
            _ = broker.bootstrap_servers


@both_kinds
def test_whoever_forgets_to_close_leaves_nothing_after_the_program(tmp_path: Path, in_thread: bool) -> None:
    text = f"""
        from ottla.testing import Broker
        broker = Broker(in_thread={in_thread})
        broker.start()
        print(getattr(broker._host, "process_id", 0), flush=True)
        input()
    """
    with a_program(tmp_path, text) as program:
        assert program.stdout is not None
        process_id = int(program.stdout.readline())
        assert list(tmp_path.iterdir()) != []
        program.communicate("\n", timeout=SECONDS_MAX)
    assert program.returncode == 0
    if process_id:
        wait_for_end(process_id)
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_that_ends_does_not_end_the_broker(tmp_path: Path) -> None:
    text = """
        import os, sys
        from ottla.testing import Broker
        with Broker() as broker:
            child = os.fork()
            if child == 0:
                sys.exit(3)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
            broker.create_topic("t")
            print("it lives")
    """
    with a_program(tmp_path, text) as program:
        assert program.communicate(timeout=SECONDS_MAX)[0] == "it lives\n"
    assert program.returncode == 0


def test_what_the_broker_said_can_be_read() -> None:
    with Broker(ottla_log_level="INFO") as broker, a_connection(broker) as connection:
        broker.cut_off_next("Produce")
        broker.create_topic("t")
        with pytest.raises(ConnectionLost):
            try_to_produce(connection, "t")
        assert "is cut off: a test asked for this" in broker.output


def test_a_fault_of_an_earlier_life_is_gone() -> None:
    with Broker(in_thread=True) as broker:
        fault = broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
        assert isinstance(fault, Fault)
        assert fault.taken == 0
        broker.restart()
        with pytest.raises(BrokerError, match="not running any more"):
            _ = fault.taken
        broker.create_topic("t")
        with a_connection(broker) as connection:
            assert try_to_produce(connection, "t") == 0
