"""UpdateFeatures: what the controller says of levels arrives in every version."""

from __future__ import annotations

import pytest

from ottla.wire.errors import ErrorCode
from ottla.wire.messages.features import UpdateFeaturesRequest
from tests.server.handler_world import World

Update = UpdateFeaturesRequest.FeatureUpdateKey


@pytest.mark.parametrize("version", range(3))
def test_a_feature_is_raised_in_every_version(world: World, version: int) -> None:
    update = Update(feature="transaction.version", max_version_level=1)
    response = world.ask(UpdateFeaturesRequest(feature_updates=[update]), version)
    assert response.error_code == ErrorCode.NONE
    assert [each.error_code for each in response.results] == ([ErrorCode.NONE] if version < 2 else [])
    assert world.broker.image.feature_level("transaction.version") == 1


def test_a_level_that_nobody_supports_is_refused(world: World) -> None:
    update = Update(feature="transaction.version", max_version_level=9)
    response = world.ask(UpdateFeaturesRequest(feature_updates=[update]))
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "transaction.version" in response.error_message
