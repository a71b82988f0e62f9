"""Ottla beside Apache Kafka: the same machine, the same run, the same clients, in turns.

`contenders` starts the brokers, `processes` reads what they cost, `java_client`, `librdkafka_client` and `raw_client`
load them, `rows` says what is measured and what is to be reached, `running` takes turns, `report` prints.

    python -m bench.broker [--rows PATTERN] [--repeat N] [--quick] [--json FILE]
"""
