"""Who may do what."""

from __future__ import annotations

from ottla.config.checks import NOT_NULL, at_least, listed
from ottla.config.keys import HIGH, LOW, PER_BROKER, KeySet, java_class, long, password, string, strings
from ottla.config.values import DAY_MS, HOUR_MS


class AccessKeys(KeySet):
    """Who may do what."""

    authorizer_class_name = string("authorizer.class.name", "", NOT_NULL, importance=LOW).says(
        "Which authorizer decides what principals may do; empty for none. Kafka's StandardAuthorizer is known by "
        "its name."
    )

    early_start_listeners = strings("early.start.listeners", None, listed(null=True), importance=HIGH).says(
        "Listeners that open before the authorizer is ready; where it is not set, those of the controller."
    )

    principal_builder_class = java_class(
        "principal.builder.class",
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        update=PER_BROKER,
    ).says("The Java class that names principals; the default one is known by its name.")

    delegation_token_secret_key = password("delegation.token.secret.key").says(
        "The secret that signs delegation tokens, the same on every node; without it there are none."
    )

    delegation_token_max_lifetime_ms = long("delegation.token.max.lifetime.ms", 7 * DAY_MS, at_least(1)).says(
        "The age beyond which a delegation token cannot be renewed."
    )

    delegation_token_expiry_time_ms = long("delegation.token.expiry.time.ms", DAY_MS, at_least(1)).says(
        "How long a delegation token is valid until it is renewed."
    )

    delegation_token_expiry_check_interval_ms = long(
        "delegation.token.expiry.check.interval.ms", HOUR_MS, at_least(1), importance=LOW
    ).says("How often expired delegation tokens are removed.")
