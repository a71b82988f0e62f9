"""The cluster in one picture."""

from __future__ import annotations

from tests.commands.command_line import CommandLine


def test_the_picture_has_nodes_features_and_quorum(ottla: CommandLine) -> None:
    (picture,) = ottla.ok("cluster", "info", "--json").rows
    (broker,) = picture["brokers"]
    assert f"{broker['host']}:{broker['port']}" == ottla.bootstrap
    assert (broker["id"], broker["isFenced"], picture["controller"]) == (1, False, 1)
    levels = {feature["name"]: feature["level"] for feature in picture["features"]}
    assert levels["kraft.version"] == 1
    assert (picture["quorum"]["leader"], picture["quorum"]["replicas"][0]["role"]) == (1, "leader")
    assert picture["quorum"]["replicas"][0]["lag"] == 0


def test_a_person_sees_tables(ottla: CommandLine) -> None:
    told = ottla.ok("cluster", "info")
    assert told.lines[0].startswith("cluster ")
    assert told.lines[0].endswith(", controller 1")
    assert ["1", ottla.bootstrap, "-", "serving"] in [line.split() for line in told.lines]
    assert any(line.startswith("quorum: leader 1, ") for line in told.lines)
