"""Groups and their offsets as state machines: requests and the time in, answers and records out.

`shard.py` is the front: the state of one partition of `__consumer_offsets`. What goes in and comes out of it is in
`contract.py`. Nothing here waits, reads a clock or knows a socket.
"""
