"""UpdateFeatures (KIP-584): all levels or none, answered when they are committed.

Which levels there are and what each needs is the controller's. Raising kraft.version is not done here yet: the quorum
would have to write it. Versions: 1 has kinds of downgrade and a dry run, 2 no results for features that went well
(KIP-1022).
"""

from __future__ import annotations

from ottla.server.context import Context
from ottla.server.handlers.changes import change
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import KafkaError
from ottla.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse


def update_features(context: Context, request: UpdateFeaturesRequest) -> Pending:
    return change(context, request, timeout_ms=request.timeout_ms)


def refused(request: UpdateFeaturesRequest, error: KafkaError) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message, results=[])


ROUTES = (Route(UpdateFeaturesRequest, versions(0, 2), update_features, refused),)
