"""Three Ottla nodes beside three of Apache Kafka: what is replicated, in turns, with the clients of `bench.broker`.

`contenders` starts the clusters, `nodes` is a process of one that can be killed and started again, `fail_over` times
what that costs a producer, `rows` says what is measured and what is to be reached.

    python -m bench.cluster [--rows PATTERN] [--repeat N] [--quick] [--json FILE]
"""
