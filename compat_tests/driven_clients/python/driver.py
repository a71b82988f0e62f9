"""A driver: one Python client, told by lines of JSON on its input what to do.

    python -m compat_tests.driven_clients.python.driver aiokafka 127.0.0.1:9092

It speaks as the driver in Go does, whose main.go and client.go say what lines there are and what each means.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback

from compat_tests.clients.records import Refused
from compat_tests.driven_clients.python.client import Client, Request
from compat_tests.driven_clients.python.events import print_line

# Only the one that is asked for is loaded.
MODULES = {"kafka-python": "kafka_python_client", "confluent-kafka": "confluent_client", "aiokafka": "aiokafka_client"}


def main(name: str, bootstrap: str) -> None:
    client: Client = importlib.import_module(f"{__package__}.{MODULES[name]}").client(bootstrap)
    for line in sys.stdin:
        handle(client, json.loads(line))
    os._exit(0)  # nobody is told goodbye


def handle(client: Client, request: Request) -> None:
    try:
        print_line({"id": request["id"], "answer": client.handle(request)})
    except Refused as refused:
        print_line({"id": request["id"], "failed": {"code": int(refused.code), "message": str(refused)}})
    except Exception:
        print_line({"id": request["id"], "failed": {"code": 0, "message": traceback.format_exc()}})


if __name__ == "__main__":
    main(*sys.argv[1:])
