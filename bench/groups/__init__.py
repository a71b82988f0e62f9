"""Thousands of members of groups on one broker, Ottla beside Apache Kafka: what groups cost, in both protocols.

`connections` is many sockets under one loop, `classic_member` and `consumer_member` are the clients, `crowd` has them
join, stay, rebalance, commit and leave, `rows` says what is measured and what is to be reached. Brokers, turns and
tables come from `bench.broker`.

    python -m bench.groups [--groups N] [--repeat N] [--quick] [--json FILE]
"""
