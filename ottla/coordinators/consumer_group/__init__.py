"""Consumer groups with assignment on the broker (KIP-848), and classic consumers that are members of one."""
