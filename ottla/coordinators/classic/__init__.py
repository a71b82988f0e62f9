"""The classic group protocol: members join and sync through the coordinator, and one of them assigns."""
