"""Every configuration key, declared once, and what is derived from the declarations.

`declared/` holds the keys, one class an area; `keys` says what a declaration is, `values` how a value is spelled and
`checks` what it may be. On top: `broker`, `topic` and `group` (what holds for one of them, and the LogConfig of a
topic), `loading` (from a file and a command line), `cross_checks` (keys against each other), `dynamic`, `alter` and
`describe` (what changes at run time, and what the admin APIs show). Nothing here reads a clock, opens a file or a
socket, or prints: whoever starts a node loads its configuration here and passes it down. Names, types, defaults,
limits and update modes are those of Apache Kafka 4.3, and a test compares every one of them with Kafka's own classes.
"""
