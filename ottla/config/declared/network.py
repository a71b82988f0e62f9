"""Listeners and connections."""

from __future__ import annotations

from ottla.config.checks import at_least, listed, one_of
from ottla.config.keys import CLUSTER_WIDE, HIGH, LOW, PER_BROKER, KeySet, integer, long, string, strings
from ottla.config.values import INT_MAX


class NetworkKeys(KeySet):
    """Listeners and connections."""

    listeners = strings(
        "listeners", ("PLAINTEXT://:9092",), listed(empty=False), importance=HIGH, update=PER_BROKER
    ).says(
        "Where to listen, as NAME://host:port; an empty host means every interface, and port 0 lets the system choose."
    )

    advertised_listeners = strings("advertised.listeners", None, listed(empty=False, null=True), importance=HIGH).says(
        "What clients and other brokers are told to connect to, where that differs from listeners, as behind a "
        "proxy or in a container."
    )

    listener_security_protocol_map = string(
        "listener.security.protocol.map",
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        importance=LOW,
        update=PER_BROKER,
    ).says(
        "Which security protocol each listener name stands for, as NAME:PROTOCOL; controller listeners default to "
        "PLAINTEXT while nothing uses TLS or SASL."
    )

    inter_broker_listener_name = string("inter.broker.listener.name", None).says(
        "The listener on which brokers talk to each other; it excludes security.inter.broker.protocol."
    )

    security_inter_broker_protocol = string(
        "security.inter.broker.protocol", "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    ).says("The security protocol, and thereby the listener of that name, which brokers use among themselves.")

    socket_send_buffer_bytes = integer("socket.send.buffer.bytes", 100 << 10, importance=HIGH).says(
        "The send buffer asked of the system for each connection; -1 leaves it to the system."
    )

    socket_receive_buffer_bytes = integer("socket.receive.buffer.bytes", 100 << 10, importance=HIGH).says(
        "The receive buffer asked of the system for each connection; -1 leaves it to the system."
    )

    socket_request_max_bytes = integer("socket.request.max.bytes", 100 << 20, at_least(1), importance=HIGH).says(
        "The largest request a client may send; a connection that announces more is closed."
    )

    socket_listen_backlog_size = integer("socket.listen.backlog.size", 50, at_least(1)).says(
        "How many connections may wait to be accepted."
    )

    max_connections_per_ip = integer("max.connections.per.ip", INT_MAX, at_least(0), update=CLUSTER_WIDE).says(
        "How many connections one address may hold."
    )

    max_connections_per_ip_overrides = string("max.connections.per.ip.overrides", "", update=CLUSTER_WIDE).says(
        "Other limits for certain addresses or names, as host:count with commas between them."
    )

    max_connections = integer("max.connections", INT_MAX, at_least(0), update=CLUSTER_WIDE).says(
        "How many connections this broker holds in all; a new one then waits, or takes the place of the longest "
        "idle one."
    )

    max_connection_creation_rate = integer(
        "max.connection.creation.rate", INT_MAX, at_least(0), update=CLUSTER_WIDE
    ).says("How many connections a second are accepted; the rest wait.")

    connections_max_idle_ms = long("connections.max.idle.ms", 600_000).says(
        "A connection on which nothing was said for this long is closed."
    )

    connection_failed_authentication_delay_ms = integer(
        "connection.failed.authentication.delay.ms", 100, at_least(0), importance=LOW
    ).says("How long a failed login waits for its answer, to slow down guessing.")

    queued_max_requests = integer("queued.max.requests", 500, at_least(1), importance=HIGH).says(
        "How many requests may wait to be handled before no more are read from connections."
    )

    queued_max_request_bytes = long("queued.max.request.bytes", -1).says(
        "How many bytes of requests may wait to be handled; -1 sets no limit."
    )

    num_network_threads = integer("num.network.threads", 3, at_least(1), importance=HIGH, update=CLUSTER_WIDE).says(
        "Accepted for the sake of existing files; one event loop serves every connection."
    )

    socket_connection_setup_timeout_ms = long("socket.connection.setup.timeout.ms", 10_000).says(
        "How long the first attempt to connect to another node may take."
    )

    socket_connection_setup_timeout_max_ms = long("socket.connection.setup.timeout.max.ms", 30_000).says(
        "The longest a repeated attempt to connect to another node may take."
    )

    max_request_partition_size_limit = integer("max.request.partition.size.limit", 2000, at_least(1)).says(
        "How many partitions a single answer to DescribeTopicPartitions describes."
    )

    fetch_max_bytes = integer("fetch.max.bytes", 55 << 20, at_least(1024)).says(
        "The most bytes a Fetch is answered with, whatever it asks for; a single larger batch is still returned whole."
    )

    max_incremental_fetch_session_cache_slots = integer(
        "max.incremental.fetch.session.cache.slots", 1000, at_least(0)
    ).says("How many fetch sessions are remembered (KIP-227); further clients send full requests.")

    fetch_purgatory_purge_interval_requests = integer("fetch.purgatory.purge.interval.requests", 1000).says(
        "Accepted for the sake of existing files; a waiting Fetch that is done is forgotten at once."
    )

    producer_purgatory_purge_interval_requests = integer("producer.purgatory.purge.interval.requests", 1000).says(
        "Accepted for the sake of existing files; a waiting Produce that is done is forgotten at once."
    )

    delete_records_purgatory_purge_interval_requests = integer(
        "delete.records.purgatory.purge.interval.requests", 1
    ).says("Accepted for the sake of existing files; a waiting DeleteRecords that is done is forgotten at once.")

    controller_socket_timeout_ms = integer("controller.socket.timeout.ms", 30_000).says(
        "How long a request from the controller to a broker may take; nothing in a KRaft cluster uses it."
    )
