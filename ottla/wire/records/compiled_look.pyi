from ottla.wire.records.look import look as look

SOURCE_DIGEST: str
