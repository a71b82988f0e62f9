"""SASL; each key can be given for one listener, and some for one mechanism of it."""

from __future__ import annotations

from ottla.config.checks import listed
from ottla.config.keys import (
    LOW,
    PER_BROKER,
    KeySet,
    double,
    integer,
    java_class,
    long,
    password,
    short,
    string,
    strings,
)


class SaslKeys(KeySet):
    """SASL; each key can be given for one listener, and some for one mechanism of it."""

    sasl_enabled_mechanisms = strings("sasl.enabled.mechanisms", ("GSSAPI",), listed(), update=PER_BROKER).says(
        "The mechanisms with which clients may log in."
    )

    sasl_mechanism_inter_broker_protocol = string(
        "sasl.mechanism.inter.broker.protocol", "GSSAPI", update=PER_BROKER
    ).says("The mechanism with which brokers log in to each other.")

    sasl_jaas_config = password("sasl.jaas.config", update=PER_BROKER).says(
        "What a mechanism needs to know, in Java's JAAS form, such as users and passwords."
    )

    sasl_server_max_receive_size = integer("sasl.server.max.receive.size", 512 << 10).says(
        "The largest message of a login that is read."
    )

    connections_max_reauth_ms = long("connections.max.reauth.ms", 0).says(
        "After how long a client has to log in again (KIP-368); 0 for never."
    )

    sasl_server_callback_handler_class = java_class("sasl.server.callback.handler.class", None).says(
        "A Java class that would check logins; it cannot run here."
    )

    sasl_client_callback_handler_class = java_class("sasl.client.callback.handler.class", None).says(
        "A Java class that would provide credentials; it cannot run here."
    )

    sasl_login_class = java_class("sasl.login.class", None).says("A Java class that would log in; it cannot run here.")

    sasl_login_callback_handler_class = java_class("sasl.login.callback.handler.class", None).says(
        "A Java class that would provide credentials for logging in; it cannot run here."
    )

    sasl_kerberos_service_name = string("sasl.kerberos.service.name", None, update=PER_BROKER).says(
        "The Kerberos name of the service that brokers run as."
    )

    sasl_kerberos_principal_to_local_rules = strings(
        "sasl.kerberos.principal.to.local.rules", ("DEFAULT",), listed(), update=PER_BROKER
    ).says("How Kerberos names become names of principals.")

    sasl_kerberos_kinit_cmd = string("sasl.kerberos.kinit.cmd", "/usr/bin/kinit", update=PER_BROKER).says(
        "The program that gets Kerberos tickets."
    )

    sasl_kerberos_ticket_renew_window_factor = double(
        "sasl.kerberos.ticket.renew.window.factor", 0.8, update=PER_BROKER
    ).says("At what share of its lifetime a Kerberos ticket is renewed.")

    sasl_kerberos_ticket_renew_jitter = double("sasl.kerberos.ticket.renew.jitter", 0.05, update=PER_BROKER).says(
        "By what share that time varies at random."
    )

    sasl_kerberos_min_time_before_relogin = long(
        "sasl.kerberos.min.time.before.relogin", 60_000, update=PER_BROKER
    ).says("How long at least lies between two attempts to renew a Kerberos ticket.")

    sasl_login_refresh_window_factor = double("sasl.login.refresh.window.factor", 0.8, update=PER_BROKER).says(
        "At what share of its lifetime a credential is renewed."
    )

    sasl_login_refresh_window_jitter = double("sasl.login.refresh.window.jitter", 0.05, update=PER_BROKER).says(
        "By what share that time varies at random."
    )

    sasl_login_refresh_min_period_seconds = short("sasl.login.refresh.min.period.seconds", 60, update=PER_BROKER).says(
        "How long a credential is kept at least before it is renewed."
    )

    sasl_login_refresh_buffer_seconds = short("sasl.login.refresh.buffer.seconds", 300, update=PER_BROKER).says(
        "How long before its end a credential is renewed at the latest."
    )

    sasl_login_connect_timeout_ms = integer("sasl.login.connect.timeout.ms", None, importance=LOW).says(
        "How long connecting to an identity provider may take."
    )

    sasl_login_read_timeout_ms = integer("sasl.login.read.timeout.ms", None, importance=LOW).says(
        "How long an identity provider may take to answer."
    )

    sasl_login_retry_backoff_ms = long("sasl.login.retry.backoff.ms", 100, importance=LOW).says(
        "The first wait after an identity provider failed."
    )

    sasl_login_retry_backoff_max_ms = long("sasl.login.retry.backoff.max.ms", 10_000, importance=LOW).says(
        "The longest wait after an identity provider failed repeatedly."
    )
