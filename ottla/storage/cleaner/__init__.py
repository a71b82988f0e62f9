"""Compaction: of every key the last value stays, offsets stay what they were (Kafka's log cleaner).

Three steps, each of which may fail or be stopped without harm: `plan` decides what may be cleaned and whether it is
time, `rewrite` copies what survives into `.cleaned` files beside the log, `swap` puts those in the place of the
originals, and finishes or forgets it after a crash. `rewrite` takes and returns paths and plain values, so that a child
process can run it while the broker goes on serving.
"""
