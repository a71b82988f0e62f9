"""What a node is where nothing says otherwise: the one place where Ottla's defaults are not Kafka's.

Kafka refuses to start without process.roles, node.id, controller.listener.names and a quorum. Ottla starts with
nothing set, as one node that is broker and controller:

- node.id is 1; process.roles is broker,controller; controller.listener.names is CONTROLLER.
- listeners is Kafka's default. A node that is broker and controller, whose controller.listener.names was not set and
  whose listeners do not name one, gets CONTROLLER on a port of the loopback interface that the system chooses.
- log.dirs is a directory of this node below the user's data directory (Kafka's is a temporary one).
- controller.quorum.voters and controller.quorum.bootstrap.servers may both be empty: a controller is then a quorum of
  its own, formatted as Kafka's storage tool does with --standalone.

What is filled in here is reported as a default, not as something that was set. Pure: the environment is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping

NODE_ID = "1"
PROCESS_ROLES = "broker,controller"
CONTROLLER_LISTENER = "CONTROLLER"
CONTROLLER_ENDPOINT = "CONTROLLER://127.0.0.1:0"
KAFKA_LISTENERS = "PLAINTEXT://:9092"


def completed(static: Mapping[str, str]) -> dict[str, str]:
    """What was set: the node's id by both its names, and a listener for the controller where none was thought of."""
    texts = dict(static)
    for given, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if given in static:
            texts.setdefault(other, static[given])
    if "listeners" in static and lacks_controller(static):
        texts["listeners"] = f"{static['listeners']},{CONTROLLER_ENDPOINT}"
    return texts


def filled_in(static: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The texts for what was not set."""
    filled: dict[str, str] = {}
    node_id = static.get("node.id") or static.get("broker.id") or NODE_ID
    if "node.id" not in static and "broker.id" not in static:
        filled["node.id"] = filled["broker.id"] = node_id
    if "process.roles" not in static:
        filled["process.roles"] = PROCESS_ROLES
    if "controller.listener.names" not in static:
        filled["controller.listener.names"] = CONTROLLER_LISTENER
    if "listeners" not in static and lacks_controller(static):
        filled["listeners"] = f"{KAFKA_LISTENERS},{CONTROLLER_ENDPOINT}"
    if "log.dirs" not in static and "log.dir" not in static:
        filled["log.dirs"] = f"{data_directory(environment)}/node-{node_id.strip()}"
    return filled


def lacks_controller(static: Mapping[str, str]) -> bool:
    """Whether this is a broker and controller that nobody gave a listener for controllers."""
    roles = {role.strip() for role in static.get("process.roles", PROCESS_ROLES).split(",")}
    listeners = static.get("listeners", KAFKA_LISTENERS).upper().split(",")
    named = any(entry.strip().startswith(f"{CONTROLLER_LISTENER}:") for entry in listeners)
    return "controller.listener.names" not in static and {"broker", "controller"} <= roles and not named


def data_directory(environment: Mapping[str, str]) -> str:
    """Where a user's programs keep data: $XDG_DATA_HOME, else .local/share at home, else the working directory."""
    if environment.get("XDG_DATA_HOME"):
        return f"{environment['XDG_DATA_HOME']}/ottla"
    if environment.get("HOME"):
        return f"{environment['HOME']}/.local/share/ottla"
    return "ottla-data"
