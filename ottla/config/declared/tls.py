"""TLS; each key can be given for one listener as listener.name.NAME.KEY."""

from __future__ import annotations

from ottla.config.checks import listed, one_of
from ottla.config.keys import LOW, PER_BROKER, KeySet, boolean, java_class, password, string, strings


class TlsKeys(KeySet):
    """TLS; each key can be given for one listener as listener.name.NAME.KEY."""

    ssl_client_auth = string(
        "ssl.client.auth", "none", one_of("required", "requested", "none"), update=PER_BROKER
    ).says("Whether clients show a certificate: required, requested (they may) or none.")

    ssl_principal_mapping_rules = string("ssl.principal.mapping.rules", "DEFAULT", importance=LOW).says(
        "How the name in a client's certificate becomes the name of a principal."
    )

    ssl_allow_dn_changes = boolean("ssl.allow.dn.changes", False, importance=LOW).says(
        "Whether a new certificate may carry another distinguished name than the one it replaces."
    )

    ssl_allow_san_changes = boolean("ssl.allow.san.changes", False, importance=LOW).says(
        "Whether a new certificate may carry other host names than the one it replaces."
    )

    ssl_protocol = string("ssl.protocol", "TLSv1.3", update=PER_BROKER).says(
        "The newest version of TLS that is spoken."
    )

    ssl_provider = string("ssl.provider", None, update=PER_BROKER).says(
        "The Java security provider for TLS; there is none here, and the key is ignored."
    )

    ssl_enabled_protocols = strings("ssl.enabled.protocols", ("TLSv1.2", "TLSv1.3"), listed(), update=PER_BROKER).says(
        "The versions of TLS that are accepted."
    )

    ssl_keystore_type = string("ssl.keystore.type", "JKS", update=PER_BROKER).says(
        "The form of the key store: JKS, PKCS12 or PEM."
    )

    ssl_keystore_location = string("ssl.keystore.location", None, update=PER_BROKER).says(
        "The file that holds the private key and its certificates."
    )

    ssl_keystore_password = password("ssl.keystore.password", update=PER_BROKER).says("The password of the key store.")

    ssl_key_password = password("ssl.key.password", update=PER_BROKER).says("The password of the private key.")

    ssl_keystore_key = password("ssl.keystore.key", update=PER_BROKER).says("The private key itself, as PEM text.")

    ssl_keystore_certificate_chain = password("ssl.keystore.certificate.chain", update=PER_BROKER).says(
        "The certificates of the private key, as PEM text."
    )

    ssl_truststore_type = string("ssl.truststore.type", "JKS", update=PER_BROKER).says(
        "The form of the trust store: JKS, PKCS12 or PEM."
    )

    ssl_truststore_location = string("ssl.truststore.location", None, update=PER_BROKER).says(
        "The file that holds the certificates of those who are trusted."
    )

    ssl_truststore_password = password("ssl.truststore.password", update=PER_BROKER).says(
        "The password of the trust store."
    )

    ssl_truststore_certificates = password("ssl.truststore.certificates", update=PER_BROKER).says(
        "The trusted certificates themselves, as PEM text."
    )

    ssl_keymanager_algorithm = string("ssl.keymanager.algorithm", "SunX509", update=PER_BROKER).says(
        "The Java algorithm that picks keys; there is none here, and the key is ignored."
    )

    ssl_trustmanager_algorithm = string("ssl.trustmanager.algorithm", "PKIX", update=PER_BROKER).says(
        "The Java algorithm that checks certificates; there is none here, and the key is ignored."
    )

    ssl_endpoint_identification_algorithm = string(
        "ssl.endpoint.identification.algorithm", "https", importance=LOW, update=PER_BROKER
    ).says("How the name of a server is compared with its certificate; empty for not at all.")

    ssl_secure_random_implementation = string(
        "ssl.secure.random.implementation", None, importance=LOW, update=PER_BROKER
    ).says("The Java source of random numbers; the system's is used here, and the key is ignored.")

    ssl_cipher_suites = strings("ssl.cipher.suites", (), listed(), update=PER_BROKER).says(
        "The cipher suites that are accepted; empty for all that are safe."
    )

    ssl_engine_factory_class = java_class("ssl.engine.factory.class", None, importance=LOW, update=PER_BROKER).says(
        "A Java class that would make TLS engines; it cannot run here."
    )

    security_providers = string("security.providers", None, importance=LOW).says(
        "Java classes of security providers; they cannot run here."
    )
