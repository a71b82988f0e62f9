"""What Kafka stores, declared: the records of its internal topics, of the metadata log, and of the quorum-state file.

Import a record from its module. A record of a log begins with frame bytes of its log's own (`type_id` and version),
which belong to whoever reads that log.
"""
