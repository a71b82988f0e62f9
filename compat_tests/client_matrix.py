"""The clients whose own tests run on Ottla and on Apache Kafka: their names, from where each of them is declared."""

from __future__ import annotations

from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.kcat_face import Kcat
from compat_tests.driven_clients import programs
from compat_tests.java_clients.scenarios import CLIENTS as JAVA_CLIENTS

KAFKAS_TOOLS = "Kafka's tools"

CLIENTS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *(face.name for face in (KafkaPython, Confluent, Aiokafka, Kcat)),
            *(client.name for client in programs.CLIENTS),
            *(f"java {client.name}" for client in JAVA_CLIENTS),
            KAFKAS_TOOLS,
        ]
    )
)
