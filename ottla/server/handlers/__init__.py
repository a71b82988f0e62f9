"""One module per family of APIs, each ending with its routes; `every_route` adds them up.

A handler is a plain function of context and request. It never awaits: it returns the response, or a Pending that
somebody completes, or raises KafkaError where the whole request failed.
"""
