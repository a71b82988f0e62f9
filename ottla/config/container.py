"""A node's settings in a container: the variables that Apache Kafka's own image takes, and what is set without any.

KAFKA_LOG_RETENTION_HOURS is log.retention.hours; two underscores are one, three are a dash. CLUSTER_ID is cluster.id.
A server.properties that is mounted comes before the variables, which win.

A container is reached from two sides. Where nobody says anything about listeners, clients of the host find it on
localhost:9092, and those of its network by its host name on 19092. Pure: variables and host name are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ottla.config.properties import merged, parse_properties

# Where the image keeps its data, and where it looks for a file: both as in Apache Kafka's image.
DATA_DIRECTORY = "/var/lib/kafka/data"
MOUNTED_PROPERTIES = "/mnt/shared/config/server.properties"

PREFIX = "KAFKA_"
# For the JVM, its logging and its scripts.
NO_SETTINGS = {
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_OPTS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_VERSION",
}
LISTENER_KEYS = ("listeners", "advertised.listeners", "listener.security.protocol.map", "inter.broker.listener.name")
_HOST = re.compile(r"://[^:]*:")


def container_settings(environment: Mapping[str, str], host_name: str, in_file: Mapping[str, str]) -> dict[str, str]:
    """All that is set for a node in a container, by file, by variables, and by being in a container."""
    given = merged(in_file, variable_settings(environment))
    if "log.dirs" not in given and "log.dir" not in given:
        given["log.dirs"] = DATA_DIRECTORY
    if not any(given.get(key) for key in LISTENER_KEYS):
        return given | two_sided_listeners(host_name)
    if given.get("advertised.listeners") and not given.get("listeners"):
        given["listeners"] = _HOST.sub("://0.0.0.0:", given["advertised.listeners"])
    return given


def variable_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """What the variables set. Kafka's image writes them into a properties file, so a value has its escapes."""
    lines = [
        f"{key_of(name)}={value}\n"
        for name, value in environment.items()
        if name.startswith(PREFIX) and name not in NO_SETTINGS
    ]
    # Java writes the file in UTF-8 and reads it in Latin-1; a value of other letters arrives as that makes it.
    settings = parse_properties("".join(lines).encode("utf-8", "surrogateescape"), "the variables of the container")
    if environment.get("CLUSTER_ID"):
        settings["cluster.id"] = environment["CLUSTER_ID"]
    return settings


def key_of(name: str) -> str:
    """The key that a variable sets."""
    dotted = name.removeprefix(PREFIX).lower().replace("_", ".")
    return dotted.replace("...", "-").replace("..", "_")


def two_sided_listeners(host_name: str) -> dict[str, str]:
    """A listener for the host, and one for the container's network, which brokers use among themselves."""
    return {
        "listeners": "PLAINTEXT_HOST://0.0.0.0:9092,PLAINTEXT://0.0.0.0:19092",
        "advertised.listeners": f"PLAINTEXT_HOST://localhost:9092,PLAINTEXT://{host_name}:19092",
        "listener.security.protocol.map": "PLAINTEXT_HOST:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }
