# The base with Java: what Apache Kafka and Spark run on.
ARG BASE
FROM ${BASE}
# Its packages link manual pages, and fail where there is no place for them.
RUN mkdir -p /usr/share/man/man1 \
    && apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless procps >/dev/null \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
