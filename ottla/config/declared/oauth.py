"""OAUTHBEARER, the SASL mechanism that takes tokens."""

from __future__ import annotations

from ottla.config.checks import between, listed, one_of_any_case
from ottla.config.keys import HIGH, LOW, KeySet, boolean, integer, java_class, long, password, string, strings
from ottla.config.values import HOUR_MS


class OAuthKeys(KeySet):
    """OAUTHBEARER, the SASL mechanism that takes tokens."""

    sasl_oauthbearer_jwt_retriever_class = java_class(
        "sasl.oauthbearer.jwt.retriever.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"
    ).says("The Java class that gets tokens; kept for the sake of existing files.")

    sasl_oauthbearer_jwt_validator_class = java_class(
        "sasl.oauthbearer.jwt.validator.class", "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"
    ).says("The Java class that checks tokens; kept for the sake of existing files.")

    sasl_oauthbearer_scope = string("sasl.oauthbearer.scope", None).says("The scope that is asked for with a token.")

    sasl_oauthbearer_client_credentials_client_id = string("sasl.oauthbearer.client.credentials.client.id", None).says(
        "The client id with which a token is asked for."
    )

    sasl_oauthbearer_client_credentials_client_secret = password(
        "sasl.oauthbearer.client.credentials.client.secret"
    ).says("The client secret with which a token is asked for.")

    sasl_oauthbearer_assertion_algorithm = string(
        "sasl.oauthbearer.assertion.algorithm", "RS256", one_of_any_case("ES256", "RS256")
    ).says("How an assertion is signed.")

    sasl_oauthbearer_assertion_claim_aud = string("sasl.oauthbearer.assertion.claim.aud", None).says(
        "Whom an assertion is meant for."
    )

    sasl_oauthbearer_assertion_claim_exp_seconds = integer(
        "sasl.oauthbearer.assertion.claim.exp.seconds", 300, between(0, 86_400), importance=LOW
    ).says("How long an assertion is valid.")

    sasl_oauthbearer_assertion_claim_iss = string("sasl.oauthbearer.assertion.claim.iss", None).says(
        "Who issues an assertion."
    )

    sasl_oauthbearer_assertion_claim_jti_include = boolean("sasl.oauthbearer.assertion.claim.jti.include", False).says(
        "Whether an assertion gets an id of its own."
    )

    sasl_oauthbearer_assertion_claim_nbf_seconds = integer(
        "sasl.oauthbearer.assertion.claim.nbf.seconds", 60, between(0, 3600), importance=LOW
    ).says("How far in the past an assertion becomes valid.")

    sasl_oauthbearer_assertion_claim_sub = string("sasl.oauthbearer.assertion.claim.sub", None).says(
        "Whom an assertion speaks of."
    )

    sasl_oauthbearer_assertion_file = string("sasl.oauthbearer.assertion.file", None).says(
        "A file with an assertion made elsewhere."
    )

    sasl_oauthbearer_assertion_private_key_file = string("sasl.oauthbearer.assertion.private.key.file", None).says(
        "The file of the key that signs assertions."
    )

    sasl_oauthbearer_assertion_private_key_passphrase = password(
        "sasl.oauthbearer.assertion.private.key.passphrase"
    ).says("The passphrase of that key.")

    sasl_oauthbearer_assertion_template_file = string("sasl.oauthbearer.assertion.template.file", None).says(
        "A file with headers and claims that every assertion gets."
    )

    sasl_oauthbearer_scope_claim_name = string("sasl.oauthbearer.scope.claim.name", "scope", importance=LOW).says(
        "The claim in which a token keeps its scope."
    )

    sasl_oauthbearer_sub_claim_name = string("sasl.oauthbearer.sub.claim.name", "sub", importance=LOW).says(
        "The claim in which a token keeps its subject."
    )

    sasl_oauthbearer_token_endpoint_url = string("sasl.oauthbearer.token.endpoint.url", None).says(
        "Where tokens are to be had."
    )

    sasl_oauthbearer_jwks_endpoint_url = string("sasl.oauthbearer.jwks.endpoint.url", None).says(
        "Where the keys that verify tokens are to be had."
    )

    sasl_oauthbearer_jwks_endpoint_refresh_ms = long(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", HOUR_MS, importance=LOW
    ).says("How often those keys are fetched anew.")

    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = long(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, importance=LOW
    ).says("The first wait after fetching them failed.")

    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = long(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, importance=LOW
    ).says("The longest wait after fetching them failed repeatedly.")

    sasl_oauthbearer_clock_skew_seconds = integer("sasl.oauthbearer.clock.skew.seconds", 30, importance=LOW).says(
        "How far the clocks of broker and identity provider may be apart."
    )

    sasl_oauthbearer_expected_audience = strings(
        "sasl.oauthbearer.expected.audience", (), listed(), importance=HIGH
    ).says("A token has to be meant for one of these; empty accepts any.")

    sasl_oauthbearer_expected_issuer = string("sasl.oauthbearer.expected.issuer", None, importance=HIGH).says(
        "A token has to be issued by this; not set accepts any."
    )
