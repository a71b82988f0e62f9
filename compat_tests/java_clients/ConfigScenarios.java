import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.ConfigResource.Type;

/** Configurations of all kinds of resources, described and changed. */
final class ConfigScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("topic_configs", ConfigScenarios::topic);
        ALL.put("topic_config_changes", ConfigScenarios::topicChanges);
        ALL.put("broker_configs", ConfigScenarios::broker);
        ALL.put("broker_config_changes", ConfigScenarios::brokerChanges);
        ALL.put("client_metrics_config_changes", ConfigScenarios::clientMetrics);
        ALL.put("logger_levels", ConfigScenarios::loggers);
        ALL.put("configs_of_what_is_not_there", ConfigScenarios::unknownResources);
    }

    static final DescribeConfigsOptions IN_FULL =
            new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);

    static void describe(World world, String what, ConfigResource resource, DescribeConfigsOptions options) {
        world.attempt(what, () -> Configs.told(World.got(world.admin.describeConfigs(List.of(resource), options).values().get(resource))));
    }

    /** Only what somebody has set. */
    static void describeSet(World world, ConfigResource resource) {
        world.attempt("set", () -> {
            return described(world, resource).entries().stream()
                    .filter(entry -> entry.source().name().startsWith("DYNAMIC"))
                    .map(Configs::told).sorted().toList();
        });
    }

    static void alter(World world, ConfigResource resource, boolean validateOnly, Object... operations) {
        List<AlterConfigOp> all = new ArrayList<>();
        for (int index = 0; index < operations.length; index += 3) {
            ConfigEntry entry = new ConfigEntry((String) operations[index + 1], (String) operations[index + 2]);
            all.add(new AlterConfigOp(entry, (OpType) operations[index]));
        }
        AlterConfigsOptions options = new AlterConfigsOptions().validateOnly(validateOnly);
        world.attempt(Arrays.toString(operations) + (validateOnly ? ", checked" : ""), () -> {
            World.got(world.admin.incrementalAlterConfigs(Map.of(resource, all), options).all());
            if (!validateOnly) {
                World.until(() -> areDone(all, described(world, resource)));
            }
            return "done";
        });
        describeSet(world, resource);
    }

    /** Kafka answers when the controller has written a change; its broker may take it on later. */
    private static boolean areDone(List<AlterConfigOp> operations, Config config) {
        return operations.stream().allMatch(operation -> {
            ConfigEntry entry = config.get(operation.configEntry().name());
            String value = operation.configEntry().value();
            boolean isSet = entry != null && entry.source().name().startsWith("DYNAMIC");
            // A broker that is in the middle of it shows a value that is not that of its source.
            if (isSet && !entry.isSensitive() && !entry.synonyms().get(0).value().equals(entry.value())) {
                return false;
            }
            return switch (operation.opType()) {
                case SET -> isSet && (entry.isSensitive() || value.equals(entry.value()));
                case DELETE -> !isSet;
                case APPEND -> isSet && List.of(entry.value().split(",")).contains(value);
                case SUBTRACT -> isSet && !List.of(entry.value().split(",")).contains(value);
            };
        });
    }

    private static Config described(World world, ConfigResource resource) throws Exception {
        return World.got(world.admin.describeConfigs(List.of(resource), IN_FULL).values().get(resource));
    }

    private static void topic(World world) throws Exception {
        ConfigResource topic = new ConfigResource(Type.TOPIC, world.topic("configs", 1, "retention.ms=5000"));
        describe(world, "in full", topic, IN_FULL);
        describe(world, "in short", topic, new DescribeConfigsOptions());
    }

    private static void topicChanges(World world) throws Exception {
        ConfigResource topic = new ConfigResource(Type.TOPIC, world.topic("changed", 1, "retention.ms=5000"));
        alter(world, topic, true, OpType.SET, "retention.ms", "7000");
        alter(world, topic, false, OpType.SET, "retention.ms", "7000", OpType.SET, "segment.bytes", "2000000");
        alter(world, topic, false, OpType.DELETE, "retention.ms", "");
        alter(world, topic, false, OpType.DELETE, "retention.ms", "");
        alter(world, topic, false, OpType.APPEND, "cleanup.policy", "compact");
        alter(world, topic, false, OpType.APPEND, "cleanup.policy", "compact");
        alter(world, topic, false, OpType.SUBTRACT, "cleanup.policy", "delete");
        alter(world, topic, false, OpType.SUBTRACT, "cleanup.policy", "compact");
        alter(world, topic, false, OpType.APPEND, "retention.ms", "1");
        alter(world, topic, false, OpType.SET, "retention.ms", "short");
        alter(world, topic, false, OpType.SET, "retention.ms", null);
        alter(world, topic, false, OpType.SET, "cleanup.policy", "burn");
        alter(world, topic, false, OpType.SET, "min.insync.replicas", "0");
        alter(world, topic, false, OpType.SET, "no.such.key", "1");
        alter(world, topic, false, OpType.DELETE, "no.such.key", "");
        alter(world, topic, false, OpType.SET, "retention.ms", "1", OpType.SET, "flush.ms", "-1");
        alter(world, topic, false, OpType.SET, "retention.ms", "1", OpType.SET, "retention.ms", "2");
        alter(world, topic, false, OpType.SET, "compression.type", "zstd", OpType.SET, "compression.zstd.level", "7");
    }

    private static void broker(World world) {
        describe(world, "node", new ConfigResource(Type.BROKER, "1"), IN_FULL);
        describe(world, "node in short", new ConfigResource(Type.BROKER, "1"), new DescribeConfigsOptions());
        describe(world, "default", new ConfigResource(Type.BROKER, ""), IN_FULL);
    }

    private static void brokerChanges(World world) {
        for (String name : List.of("1", "")) {
            ConfigResource broker = new ConfigResource(Type.BROKER, name);
            alter(world, broker, true, OpType.SET, "log.retention.ms", "70000000");
            alter(world, broker, false, OpType.SET, "log.retention.ms", "70000000", OpType.SET, "message.max.bytes", "2000000");
            alter(world, broker, false, OpType.SET, "background.threads", "11");
            alter(world, broker, false, OpType.SET, "background.threads", "0");
            alter(world, broker, false, OpType.SET, "background.threads", "many");
            alter(world, broker, false, OpType.APPEND, "log.cleanup.policy", "compact");
            alter(world, broker, false, OpType.SUBTRACT, "log.cleanup.policy", "compact");
            alter(world, broker, false, OpType.SET, "log.dirs", "/elsewhere");
            alter(world, broker, false, OpType.SET, "node.id", "7");
            alter(world, broker, false, OpType.SET, "max.connections.per.ip", "100");
            alter(world, broker, false, OpType.SET, "listener.name.plaintext.max.connections", "100");
            alter(world, broker, false, OpType.SET, "no.such.key", "1");
            alter(world, broker, false, OpType.DELETE, "log.retention.ms", "", OpType.DELETE, "message.max.bytes", "",
                    OpType.DELETE, "background.threads", "", OpType.DELETE, "log.cleanup.policy", "",
                    OpType.DELETE, "max.connections.per.ip", "", OpType.DELETE, "no.such.key", "",
                    OpType.DELETE, "listener.name.plaintext.max.connections", "");
        }
    }

    private static void clientMetrics(World world) throws Exception {
        ConfigResource metrics = new ConfigResource(Type.CLIENT_METRICS, world.prefix + "metrics");
        describe(world, "untouched", metrics, IN_FULL);
        alter(world, metrics, false, OpType.SET, "interval.ms", "60000", OpType.SET, "metrics", "org.apache.kafka.producer.");
        alter(world, metrics, false, OpType.SET, "match", "client_software_name=apache-kafka-java");
        alter(world, metrics, false, OpType.APPEND, "metrics", "org.apache.kafka.consumer.");
        alter(world, metrics, false, OpType.SET, "interval.ms", "1");
        alter(world, metrics, false, OpType.SET, "match", "nonsense");
        alter(world, metrics, false, OpType.SET, "no.such.key", "1");
        describe(world, "changed", metrics, IN_FULL);
        world.say("listed", World.got(world.admin.listClientMetricsResources().all()).stream()
                .map(listing -> listing.name()).filter(name -> name.startsWith(world.prefix)).toList());
        alter(world, metrics, false, OpType.DELETE, "interval.ms", "", OpType.DELETE, "metrics", "", OpType.DELETE, "match", "");
        world.say("listed", World.got(world.admin.listClientMetricsResources().all()).stream()
                .map(listing -> listing.name()).filter(name -> name.startsWith(world.prefix)).toList());
    }

    private static void loggers(World world) {
        ConfigResource loggers = new ConfigResource(Type.BROKER_LOGGER, "1");
        alterLogger(world, loggers, OpType.SET, "root", "WARN");
        sayLevel(world, loggers, "root");
        alterLogger(world, loggers, OpType.SET, "root", "LOUD");
        alterLogger(world, loggers, OpType.SET, "no.such.logger", "INFO");
        alterLogger(world, loggers, OpType.APPEND, "root", "INFO");
        alterLogger(world, loggers, OpType.DELETE, "root", "");
        alterLogger(world, loggers, OpType.SET, "root", "INFO");
        sayLevel(world, loggers, "root");
    }

    private static void alterLogger(World world, ConfigResource loggers, OpType type, String name, String level) {
        List<AlterConfigOp> all = List.of(new AlterConfigOp(new ConfigEntry(name, level), type));
        world.attempt(type + " " + name + " " + level, () -> World.got(world.admin.incrementalAlterConfigs(Map.of(loggers, all)).all()));
    }

    private static void sayLevel(World world, ConfigResource loggers, String name) {
        world.attempt(name, () -> Configs.told(
                World.got(world.admin.describeConfigs(List.of(loggers)).values().get(loggers)).get(name)));
    }

    private static void unknownResources(World world) {
        for (ConfigResource resource : List.of(
                new ConfigResource(Type.TOPIC, world.prefix + "nowhere"),
                new ConfigResource(Type.TOPIC, "a b"),
                new ConfigResource(Type.TOPIC, ""),
                new ConfigResource(Type.BROKER, "9"),
                new ConfigResource(Type.BROKER, "one"),
                new ConfigResource(Type.BROKER_LOGGER, "9"))) {
            // Nobody answers for a broker that is not there.
            int timeoutMs = resource.name().equals("9") ? 500 : 60_000;
            DescribeConfigsOptions describing = new DescribeConfigsOptions().timeoutMs(timeoutMs);
            AlterConfigsOptions altering = new AlterConfigsOptions().timeoutMs(timeoutMs);
            world.attempt(resource + " described", () -> World.got(world.admin.describeConfigs(List.of(resource), describing).all()));
            List<AlterConfigOp> all = List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "5000"), OpType.SET));
            world.attempt(resource + " altered", () -> World.got(world.admin.incrementalAlterConfigs(Map.of(resource, all), altering).all()));
        }
    }
}
