"""Data pipelines around a broker, on Spark through PySpark: the optional extra `ottla[spark]`.

A leaf: nothing but the command line imports it. Importing it loads neither PySpark nor Java. Here is only the one
error that all of it raises; the command line tells it to the user in place of a traceback.
"""

from __future__ import annotations


class PipelineFailed(Exception):
    """What was asked for could not be done; the message says why and, where there is a way, what to do."""
