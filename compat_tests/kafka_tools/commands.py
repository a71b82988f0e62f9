"""The command lines that are given to Ottla and to Apache Kafka: the table, in the order in which they run.

`{bootstrap}`, `{controllers}`, `{config}` and `{logs}` stand for what differs between the two, other names for files.
Those of DIRECTORY_COMMANDS run when the nodes are down. Those about groups are in group_commands.py.
"""

from __future__ import annotations

from compat_tests.kafka_tools.command import (
    CONSOLE_CONSUMER,
    CONSOLE_PRODUCER,
    SERVER,
    TOOLS,
    Command,
    settled_config,
    settled_feature,
    settled_topic,
)
from compat_tests.kafka_tools.group_commands import GROUP_COMMANDS

TOPICS = TOOLS + "TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = TOOLS + "GetOffsetShell"
FEATURES = TOOLS + "FeatureCommand"
QUORUM = TOOLS + "MetadataQuorumCommand"
DUMP = TOOLS + "DumpLogSegments"
SHELL = "org.apache.kafka.shell.MetadataShell"

CONTROLLER = "--bootstrap-controller {controllers} "


TOPIC_COMMANDS = (
    Command(
        "topics_create",
        TOPICS,
        SERVER + "--create --topic tools --partitions 3 --replication-factor 1 --config retention.ms=900000000",
    ),
    settled_topic("tools", 3),
    Command("topics_create_again", TOPICS, SERVER + "--create --topic tools", only="^Error while"),
    Command("topics_create_if_not_exists", TOPICS, SERVER + "--create --if-not-exists --topic tools"),
    Command("topics_create_placed", TOPICS, SERVER + "--create --topic placed --replica-assignment 1,1"),
    Command("topics_create_one", TOPICS, SERVER + "--create --topic newest"),
    settled_topic("newest", 1),
    Command("topics_create_with_a_dot", TOPICS, SERVER + "--create --topic with.dot"),
    settled_topic("placed", 2),
    settled_topic("with.dot", 1),
    Command("topics_list", TOPICS, SERVER + "--list --exclude-internal"),
    Command("topics_describe", TOPICS, SERVER + "--describe --topic tools"),
    Command("topics_describe_all", TOPICS, SERVER + "--describe --exclude-internal"),
    Command("topics_describe_overrides", TOPICS, SERVER + "--describe --topics-with-overrides"),
    Command("topics_describe_under_replicated", TOPICS, SERVER + "--describe --under-replicated-partitions"),
    Command("topics_describe_unavailable", TOPICS, SERVER + "--describe --unavailable-partitions"),
    Command("topics_describe_under_min_isr", TOPICS, SERVER + "--describe --under-min-isr-partitions"),
    Command("topics_describe_at_min_isr", TOPICS, SERVER + "--describe --at-min-isr-partitions"),
    Command("topics_describe_unknown", TOPICS, SERVER + "--describe --topic nowhere", only="^Error"),
    Command("topics_alter", TOPICS, SERVER + "--alter --topic tools --partitions 4"),
    settled_topic("tools", 4),
    Command("topics_alter_down", TOPICS, SERVER + "--alter --topic tools --partitions 2", only="^Error while"),
    Command("topics_describe_altered", TOPICS, SERVER + "--describe --topic tools"),
    Command("topics_delete", TOPICS, SERVER + "--delete --topic placed"),
    settled_topic("placed", 0),
    Command("topics_delete_unknown", TOPICS, SERVER + "--delete --topic nowhere", only="^Error"),
    Command("topics_delete_if_exists", TOPICS, SERVER + "--delete --if-exists --topic nowhere"),
)

TOPIC = SERVER + "--entity-type topics --entity-name tools "
BROKER = SERVER + "--entity-type brokers --entity-name 1 "
EVERY_BROKER = SERVER + "--entity-type brokers --entity-default "
LOGGER = SERVER + "--entity-type broker-loggers --entity-name 1 "
METRICS = SERVER + "--entity-type client-metrics --entity-name tool "
GROUP = SERVER + "--entity-type groups --entity-name tool "

# Keys of Ottla's own, and the default of log.dir, which names the product.
KAFKAS_KEYS = r"^(?!  (ottla\.|cluster\.id=|log\.dir=))"

CONFIG_COMMANDS = (
    Command("configs_topic_add", CONFIGS, TOPIC + "--alter --add-config max.message.bytes=90000,segment.ms=70000"),
    settled_config("TOPIC", "tools", "segment.ms", "70000"),
    Command("configs_topic_add_list", CONFIGS, TOPIC + "--alter --add-config cleanup.policy=[compact,delete]"),
    settled_config("TOPIC", "tools", "cleanup.policy", "compact,delete"),
    Command("configs_topic_describe", CONFIGS, TOPIC + "--describe"),
    Command("configs_topic_describe_all", CONFIGS, TOPIC + "--describe --all"),
    Command("configs_topics_describe", CONFIGS, SERVER + "--entity-type topics --describe", is_unordered=True),
    Command("configs_topic_wrong_value", CONFIGS, TOPIC + "--alter --add-config segment.ms=x", only="^Error while"),
    Command("configs_topic_delete", CONFIGS, TOPIC + "--alter --delete-config segment.ms,cleanup.policy"),
    settled_config("TOPIC", "tools", "segment.ms", "-"),
    Command("configs_topic_delete_unset", CONFIGS, TOPIC + "--alter --delete-config segment.ms"),
    Command("configs_topic_describe_deleted", CONFIGS, TOPIC + "--describe"),
    Command("configs_unknown_topic", CONFIGS, SERVER + "--entity-type topics --entity-name nowhere --describe"),
    Command("configs_broker_add", CONFIGS, BROKER + "--alter --add-config background.threads=12"),
    settled_config("BROKER", "1", "background.threads", "12"),
    Command("configs_broker_describe", CONFIGS, BROKER + "--describe"),
    Command("configs_broker_describe_all", CONFIGS, BROKER + "--describe --all", only=KAFKAS_KEYS),
    Command("configs_broker_delete", CONFIGS, BROKER + "--alter --delete-config background.threads"),
    settled_config("BROKER", "1", "background.threads", "-"),
    Command("configs_brokers_add", CONFIGS, EVERY_BROKER + "--alter --add-config background.threads=13"),
    settled_config("BROKER", "1", "background.threads", "13"),
    Command("configs_brokers_describe", CONFIGS, EVERY_BROKER + "--describe"),
    Command("configs_broker_describe_defaulted", CONFIGS, BROKER + "--describe"),
    Command("configs_brokers_delete", CONFIGS, EVERY_BROKER + "--alter --delete-config background.threads"),
    settled_config("BROKER", "1", "background.threads", "-"),
    Command("configs_logger_add", CONFIGS, LOGGER + "--alter --add-config root=WARN"),
    Command("configs_logger_describe", CONFIGS, LOGGER + "--describe", only="^ *root="),
    Command("configs_metrics_add", CONFIGS, METRICS + "--alter --add-config interval.ms=60000,metrics=[a.b,c.d]"),
    settled_config("CLIENT_METRICS", "tool", "interval.ms", "60000"),
    Command("configs_metrics_describe", CONFIGS, METRICS + "--describe"),
    Command("metrics_list", TOOLS + "ClientMetricsCommand", SERVER + "--list"),
    Command("metrics_describe", TOOLS + "ClientMetricsCommand", SERVER + "--describe --name tool"),
    Command("metrics_delete", TOOLS + "ClientMetricsCommand", SERVER + "--delete --name tool"),
    Command("configs_group_add", CONFIGS, GROUP + "--alter --add-config consumer.session.timeout.ms=50000"),
    settled_config("GROUP", "tool", "consumer.session.timeout.ms", "50000"),
    Command("configs_group_describe", CONFIGS, GROUP + "--describe"),
    Command("configs_group_describe_all", CONFIGS, GROUP + "--describe --all"),
    Command("configs_group_delete", CONFIGS, GROUP + "--alter --delete-config consumer.session.timeout.ms"),
)

KEYED = "--topic tools --reader-property parse.key=true --reader-property key.separator=: "
SHOWN = "".join(f"--formatter-property print.{what}=true " for what in ("key", "offset", "partition"))
RECORDS = "".join(f"key-{number}:value-{number}\n" for number in range(40))

RECORD_COMMANDS = (
    Command("console_producer", CONSOLE_PRODUCER, SERVER + KEYED + "--compression-codec lz4 --timeout 30000", RECORDS),
    Command("console_producer_of_one", CONSOLE_PRODUCER, SERVER + "--topic newest", "a\n"),
    Command(
        "console_producer_without_acks", CONSOLE_PRODUCER, SERVER + "--topic with.dot --request-required-acks 0", "a\n"
    ),
    Command(
        "console_consumer",
        CONSOLE_CONSUMER,
        SERVER + "--topic tools --partition 0 --offset earliest --max-messages 5 --timeout-ms 60000 " + SHOWN,
    ),
    Command(
        "console_consumer_from_2",
        CONSOLE_CONSUMER,
        SERVER + "--topic tools --partition 1 --offset 2 --max-messages 3 --timeout-ms 60000 " + SHOWN,
    ),
    Command(
        "producer_performance",
        TOOLS + "ProducerPerformance",
        SERVER + "--topic with.dot --num-records 500 --record-size 100 --throughput -1",
        only="^500 records sent",
    ),
    Command(
        "verifiable_producer",
        TOOLS + "VerifiableProducer",
        SERVER + "--topic tools --max-messages 8 --value-prefix 3 --repeating-keys 2 --command-config {patient}",
        is_unordered=True,
        is_alone=True,
    ),
    *(
        Command(f"offsets_at_{time}", OFFSETS, SERVER + f"--topic tools --time {time}")
        for time in ("-1", "-2", "-4", "-5", "earliest", "latest", "earliest-local", "latest-tiered")
    ),
    Command("offsets_at_the_newest", OFFSETS, SERVER + "--topic newest --time max-timestamp"),
    Command("offsets_at_-3", OFFSETS, SERVER + "--topic newest --time -3"),
    Command("offsets_at_the_beginning", OFFSETS, SERVER + "--topic tools --time 0"),
    Command("offsets_at_the_end", OFFSETS, SERVER + "--topic tools --time 9000000000000"),
    Command("offsets_of_partitions", OFFSETS, SERVER + "--topic tools --partitions 0,2"),
    Command("offsets_of_patterns", OFFSETS, SERVER + "--topic-partitions too.*:1-3,with.dot:0"),
    Command("offsets_of_all", OFFSETS, SERVER + "--exclude-internal-topics"),
    Command("offsets_of_nothing", OFFSETS, SERVER + "--topic nowhere"),
    Command("delete_records", TOOLS + "DeleteRecordsCommand", SERVER + "--offset-json-file {deletions}"),
    Command("offsets_after_deletion", OFFSETS, SERVER + "--topic tools --time earliest"),
    Command("transactions_list", TOOLS + "TransactionsCommand", SERVER + "list"),
    Command(
        "transactions_producers",
        TOOLS + "TransactionsCommand",
        SERVER + "describe-producers --topic tools --partition 0",
    ),
)

# The others are of what Ottla does not serve yet.
SERVED_FEATURES = "(metadata|kraft|group|eligible.leader.replicas).version"

CLUSTER_COMMANDS = (
    Command("log_dirs", TOOLS + "LogDirsCommand", SERVER + "--describe --topic-list tools"),
    Command(
        "log_dirs_of_broker", TOOLS + "LogDirsCommand", SERVER + "--describe --broker-list 1 --topic-list with.dot"
    ),
    Command("log_dirs_of_nobody", TOOLS + "LogDirsCommand", SERVER + "--describe --broker-list 9"),
    Command("quorum_status", QUORUM, SERVER + "describe --status"),
    Command("quorum_replication", QUORUM, SERVER + "describe --replication"),
    Command("quorum_replication_readable", QUORUM, SERVER + "describe --replication --human-readable"),
    Command("quorum_status_by_controller", QUORUM, CONTROLLER + "describe --status"),
    Command("quorum_replication_by_controller", QUORUM, CONTROLLER + "describe --replication"),
    Command("features_describe", FEATURES, SERVER + "describe", only=SERVED_FEATURES),
    Command("features_upgrade", FEATURES, SERVER + "upgrade --feature metadata.version=30 --dry-run"),
    Command(
        "features_upgrade_too_far", FEATURES, SERVER + "upgrade --feature metadata.version=99 --dry-run", only="^$"
    ),
    Command("features_downgrade", FEATURES, SERVER + "downgrade --feature metadata.version=29 --dry-run", only="^$"),
    Command("features_disable", FEATURES, SERVER + "disable --feature metadata.version --dry-run", only="^$"),
    Command("features_by_controller", FEATURES, CONTROLLER + "describe", only=SERVED_FEATURES),
    Command("features_group_version_up_again", FEATURES, SERVER + "upgrade --feature group.version=1"),
    Command("features_group_version_too_far", FEATURES, SERVER + "upgrade --feature group.version=2", only="^$"),
    Command("features_group_version_down", FEATURES, SERVER + "downgrade --feature group.version=0"),
    settled_feature("group.version", 0),
    Command("features_without_group_version", FEATURES, SERVER + "describe", only="group.version"),
    Command(
        "console_consumer_without_group_version",
        CONSOLE_CONSUMER,
        SERVER + "--topic tools --group early --from-beginning --max-messages 1 --timeout-ms 60000 "
        "--command-property group.protocol=consumer",
        only="^Processed",
    ),
    Command("features_group_version_up", FEATURES, SERVER + "upgrade --feature group.version=1"),
    settled_feature("group.version", 1),
    Command("cluster_id", TOOLS + "ClusterTool", "cluster-id " + SERVER),
    Command("cluster_id_by_controller", TOOLS + "ClusterTool", "cluster-id " + CONTROLLER),
    Command("cluster_endpoints", TOOLS + "ClusterTool", "list-endpoints " + SERVER),
    Command("cluster_endpoints_fenced", TOOLS + "ClusterTool", "list-endpoints --include-fenced-brokers " + SERVER),
    Command("cluster_endpoints_by_controller", TOOLS + "ClusterTool", "list-endpoints " + CONTROLLER),
    Command(
        "leader_election",
        TOOLS + "LeaderElectionCommand",
        SERVER + "--election-type preferred --all-topic-partitions",
    ),
    Command(
        "leader_election_of_one",
        TOOLS + "LeaderElectionCommand",
        SERVER + "--election-type unclean --topic tools --partition 0",
    ),
    Command("broker_api_versions", TOOLS + "BrokerApiVersionsCommand", SERVER),
)

RUNNING_COMMANDS = (*TOPIC_COMMANDS, *CONFIG_COMMANDS, *RECORD_COMMANDS, *CLUSTER_COMMANDS, *GROUP_COMMANDS)

FIRST = "00000000000000000000"
METADATA_LOG = f"{{logs}}/__cluster_metadata-0/{FIRST}.log"

DIRECTORY_COMMANDS = (
    Command("storage_info", "kafka.tools.StorageTool", "info -c {config}"),
    Command("dump_log", DUMP, f"--files {{logs}}/tools-0/{FIRST}.log --print-data-log --deep-iteration"),
    Command("dump_indexes", DUMP, f"--files {{logs}}/tools-0/{FIRST}.index,{{logs}}/tools-0/{FIRST}.timeindex"),
    Command(
        "dump_metadata",
        DUMP,
        f"--cluster-metadata-decoder --skip-record-metadata --files {METADATA_LOG}",
        only='"type":"(TOPIC|PARTITION|CONFIG|REMOVE_TOPIC)_RECORD"',
        is_unordered=True,
    ),
    *(
        Command(f"shell_{name}", SHELL, f"--snapshot {METADATA_LOG} {line}", until=until)
        for name, line, until in (
            ("root", "ls /", "image"),
            ("topics", "ls /image/topics/byName", "tools"),
            ("topic", "cat /image/topics/byName/tools/3", "PartitionRegistration"),
            ("configs", "ls /image/configs", "TOPIC:tools"),
            ("broker", "cat /image/cluster/brokers/1", "BrokerRegistration"),
            ("controller", "cat /image/cluster/controllers/1", "ControllerRegistration"),
            ("features", "cat /image/features/metadataVersion", "4.3-IV0"),
        )
    ),
)
