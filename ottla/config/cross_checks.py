"""What keys have to be to each other, as Kafka checks it for a KRaft node when it starts.

Each rule takes a whole configuration and raises ConfigError with the keys it is about; `check` runs them all and
returns warnings. A rule of Kafka's that is not here is one that Ottla lifts: a controller without voters and bootstrap
servers is a quorum of its own (see quick_start), and Java classes are not loaded.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.config.broker import EVERYWHERE, BrokerConfig
from ottla.config.listeners import Listener, check_ports, listener_name
from ottla.config.quorum_addresses import is_host, voters
from ottla.config.topic import broker_defaults
from ottla.config.values import ConfigError

DEDUPE_BYTES_PER_THREAD_MIN = 1 << 20
COUNT_DIGITS_MAX = 9
# The one class of Kafka's that chooses from which replica a consumer reads.
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def check(config: BrokerConfig) -> list[str]:
    """Run every rule; what is odd but allowed comes back as sentences."""
    for rule in RULES:
        rule(config)
    return warnings(config)


def require(holds: bool, message: str) -> None:
    if not holds:
        raise ConfigError(message)


def of_key(name: str, read: Callable[[], object]) -> None:
    """Run a reader whose ValueError is about one key."""
    try:
        read()
    except ValueError as error:
        raise ConfigError(f"{name}: it {error}") from None


# -- the node and its quorum ------------------------------------------------------------------------------------------


def check_identity(config: BrokerConfig) -> None:
    require(
        config.node_id == config.broker_id,
        f"node.id and broker.id are two names of one thing, and are {config.node_id} and {config.broker_id}",
    )


def check_quorum(config: BrokerConfig) -> None:
    ids = voters(config.controller_quorum_voters)
    names = "controller.quorum.voters"
    if config.is_controller:
        require(
            not ids or config.node_id in ids, f"{names}: a controller has to be a voter, and {config.node_id} is not"
        )
        return
    require(
        bool(ids or config.controller_quorum_bootstrap_servers),
        f"controller.quorum.bootstrap.servers: a node that is no controller has to be told where controllers are, "
        f"here or in {names}",
    )
    require(
        config.node_id not in ids, f"{names}: {config.node_id} is a voter, but process.roles does not say controller"
    )
    require(
        not config.controller_quorum_auto_join_enable,
        "controller.quorum.auto.join.enable: only a controller can join, and process.roles does not say controller",
    )


# -- listeners --------------------------------------------------------------------------------------------------------


def check_listener_texts(config: BrokerConfig) -> None:
    of_key("listeners", lambda: [listener_name(text) for text in config.listeners])
    of_key("listener.security.protocol.map", lambda: config.security_protocols)
    of_key("listeners", lambda: check_ports(config.all_listeners))
    of_key("advertised.listeners", lambda: config.all_advertised)


def check_controller_listeners(config: BrokerConfig) -> None:
    names, key = config.controller_listener_names, "controller.listener.names"
    listening = {listener.name for listener in config.all_listeners}
    if not config.is_controller:
        require(not config.controller_listeners, f"{key}: a broker alone must not listen on {', '.join(names)}")
        unknown = [name for name in names if name.upper() not in config.security_protocols]
        require(not unknown, f"{key}: {unknown} is not in listener.security.protocol.map")
        return
    missing = [name for name in names if name not in listening]
    require(not missing, f"{key}: a controller has to listen on each of them, and {missing} is not in listeners")
    if not config.is_broker:
        require(not config.broker_listeners, f"listeners: a controller alone listens only on {', '.join(names)}")
        name = config.inter_broker_listener_name
        require(name is None or name.upper() not in names, f"inter.broker.listener.name: {name} is in {key}")


def check_broker_listeners(config: BrokerConfig) -> None:
    between = config.inter_broker_listener_name
    both = between is not None and config.is_set(BrokerConfig.security_inter_broker_protocol)
    require(not both, "inter.broker.listener.name and security.inter.broker.protocol exclude each other")
    known = between is None or between.upper() in config.security_protocols
    require(known, f"inter.broker.listener.name: {between} is not in listener.security.protocol.map")
    if not config.is_broker:
        return
    advertised = [listener.name for listener in config.advertised_broker_listeners]
    listening = [listener.name for listener in config.all_listeners]
    require(bool(advertised), "advertised.listeners: a broker needs one that is not in controller.listener.names")
    require(
        config.inter_broker_listener in advertised,
        f"inter.broker.listener.name: {config.inter_broker_listener} is not among the advertised listeners, "
        f"which are {', '.join(advertised)}",
    )
    stray = [name for name in advertised if name not in listening]
    require(not stray, f"advertised.listeners: {stray} is not among listeners, which are {', '.join(listening)}")


def check_advertised_hosts(config: BrokerConfig) -> None:
    def unroutable(listeners: tuple[Listener, ...]) -> bool:
        return any(listener.host == EVERYWHERE for listener in listeners)

    wrong = unroutable(config.advertised_broker_listeners) or unroutable(config.advertised_controller_listeners)
    require(not wrong, f"advertised.listeners: nobody can connect to {EVERYWHERE}; name an address that others reach")


def check_early_listeners(config: BrokerConfig) -> None:
    known = {listener.name for listener in config.all_listeners} | {
        name.upper() for name in config.controller_listener_names
    }
    unknown = [name for name in config.early_start_listeners or () if name.upper() not in known]
    require(not unknown, f"early.start.listeners: {unknown} is neither in listeners nor in controller.listener.names")


def check_inter_broker_login(config: BrokerConfig) -> None:
    name = config.inter_broker_listener
    protocol = config.security_protocols.get(name)
    if protocol is None or not protocol.name.startswith("SASL"):
        return
    mechanism = config.sasl_mechanism_inter_broker_protocol
    enabled = config.for_listener(name).sasl_enabled_mechanisms
    require(
        mechanism in enabled, f"sasl.mechanism.inter.broker.protocol: {mechanism} is not in sasl.enabled.mechanisms"
    )


# -- connections ------------------------------------------------------------------------------------------------------


def check_connections(config: BrokerConfig) -> None:
    queued, largest = config.queued_max_request_bytes, config.socket_request_max_bytes
    require(queued <= 0 or queued >= largest, f"queued.max.request.bytes: {queued} is below socket.request.max.bytes")
    delay, idle = config.connection_failed_authentication_delay_ms, config.connections_max_idle_ms
    require(
        idle < 0 or delay < idle,
        f"connection.failed.authentication.delay.ms: {delay} has to be below connections.max.idle.ms, which is {idle}",
    )
    overrides = connection_overrides(config)
    require(
        config.max_connections_per_ip > 0 or bool(overrides),
        "max.connections.per.ip: 0 is only allowed along with max.connections.per.ip.overrides",
    )


def check_keys_of_listeners(config: BrokerConfig) -> None:
    """What is given for one listener alone is read here first, and not when somebody comes to it."""
    for listener in config.all_listeners:
        config.for_listener(listener.name)


def connection_overrides(config: BrokerConfig) -> dict[str, int]:
    """max.connections.per.ip.overrides, read."""
    found = {}
    for pair in filter(None, map(str.strip, config.max_connections_per_ip_overrides.split(","))):
        host, colon, count = (part.strip() for part in pair.rpartition(":"))
        is_count = count.isascii() and count.isdigit() and len(count) <= COUNT_DIGITS_MAX
        if not colon or not is_host(host) or not is_count:
            raise ConfigError(f"max.connections.per.ip.overrides: it must be a list of HOST:COUNT; {pair!r} is not")
        found[host] = int(count)
    return found


# -- logs and replicas ------------------------------------------------------------------------------------------------


def check_log(config: BrokerConfig) -> None:
    defaults = broker_defaults(config)
    roll, jitter, retention = (defaults[name] for name in ("segment.ms", "segment.jitter.ms", "retention.ms"))
    require(roll >= 1, f"log.roll.ms: {roll} has to be at least 1")
    require(jitter >= 0, f"log.roll.jitter.ms: {jitter} has to be at least 0")
    require(retention >= 1 or retention == -1, f"log.retention.ms: {retention} has to be -1 or at least 1")
    least, most = config.log_cleaner_min_compaction_lag_ms, config.log_cleaner_max_compaction_lag_ms
    require(
        least <= most,
        f"log.cleaner.min.compaction.lag.ms: {least} is more than log.cleaner.max.compaction.lag.ms, {most}",
    )
    share = config.log_cleaner_dedupe_buffer_size // max(config.log_cleaner_threads, 1)
    require(
        share > DEDUPE_BYTES_PER_THREAD_MIN,
        f"log.cleaner.dedupe.buffer.size: {share} bytes for each of log.cleaner.threads is not more than 1 MiB",
    )


def check_cordoned(config: BrokerConfig) -> None:
    cordoned = config.cordoned_log_dirs or ()
    require("*" not in cordoned or len(cordoned) == 1, "cordoned.log.dirs: * has to stand alone")
    stray = [directory for directory in config.cordoned_directories if directory not in config.log_directories]
    require(not stray, f"cordoned.log.dirs: {stray} is not in log.dirs")


def check_replication(config: BrokerConfig) -> None:
    wait, patience, lag = (
        config.replica_fetch_wait_max_ms,
        config.replica_socket_timeout_ms,
        config.replica_lag_time_max_ms,
    )
    require(wait <= patience, f"replica.fetch.wait.max.ms: {wait} is more than replica.socket.timeout.ms, {patience}")
    require(wait <= lag, f"replica.fetch.wait.max.ms: {wait} is more than replica.lag.time.max.ms, {lag}")


def check_replica_selector(config: BrokerConfig) -> None:
    """Kafka loads the class when a broker starts; a consumer that read from the leader alone would find out late."""
    selector = config.replica_selector_class
    require(
        selector in (None, RACK_AWARE_SELECTOR) or not config.is_broker,
        f"replica.selector.class: {selector!r} is not known here; it is {RACK_AWARE_SELECTOR}, or not set",
    )


# -- groups -----------------------------------------------------------------------------------------------------------

# The first must not be more than the second.
NOT_MORE: tuple[tuple[str, str], ...] = (
    *(
        pair
        for kind in ("consumer", "share", "streams")
        for what in ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")
        for pair in (
            (f"group.{kind}.min.{what}", f"group.{kind}.max.{what}"),
            (f"group.{kind}.min.{what}", f"group.{kind}.{what}"),
            (f"group.{kind}.{what}", f"group.{kind}.max.{what}"),
        )
    ),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    *(
        pair
        for what in ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")
        for pair in (
            (f"group.share.min.{what}", f"group.share.{what}"),
            (f"group.share.{what}", f"group.share.max.{what}"),
        )
    ),
    ("group.share.max.size", "group.share.max.share.sessions"),
)


def check_groups(config: BrokerConfig) -> None:
    for smaller, larger in NOT_MORE:
        least, most = config.value(smaller), config.value(larger)
        require(least <= most, f"{smaller}: {least} is more than {larger}, which is {most}")
    for kind in ("consumer", "share", "streams"):
        beat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        require(config.value(beat) < config.value(session), f"{beat}: it has to be below {session}")
    require(
        "classic" in config.group_coordinator_rebalance_protocols,
        "group.coordinator.rebalance.protocols: it has to name classic",
    )
    require(len(config.group_share_assignors) == 1, "group.share.assignors: it has to name exactly one")


def warnings(config: BrokerConfig) -> list[str]:
    found = []
    if config.broker_heartbeat_interval_ms * 2 > config.broker_session_timeout_ms:
        found.append(
            "broker.heartbeat.interval.ms is more than half of broker.session.timeout.ms: "
            "one late heartbeat would fence a broker"
        )
    if not config.is_controller and len(config.controller_listener_names) > 1:
        found.append("controller.listener.names: a broker uses only the first of them")
    return found


RULES: tuple[Callable[[BrokerConfig], None], ...] = (
    check_identity,
    check_quorum,
    check_listener_texts,
    check_controller_listeners,
    check_broker_listeners,
    check_advertised_hosts,
    check_early_listeners,
    check_inter_broker_login,
    check_connections,
    check_keys_of_listeners,
    check_log,
    check_cordoned,
    check_replication,
    check_replica_selector,
    check_groups,
)
