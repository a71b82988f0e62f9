"""Spark beside both brokers: the same records by the `kafka` format from each, and by `ottla-segments` from the files.

`python -m bench.spark` writes 10 million records to an Ottla and to an Apache Kafka and reads them in turns, in one run
on one machine; `--quick` takes a tenth of them, once.
"""
