"""A small Kafka client on trio: connections, metadata, routing, and just enough producing and consuming.

connection.py is one connection, cluster.py finds the broker that a request belongs to and tries again, produce.py,
consume.py and offsets.py stand on it; blocking.py is the face for code without trio. It knows the protocol and
nothing of our server: any Kafka will do. Followers, forwarding, the command line and the tests use it.
"""
