import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.ListTransactionsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What only clients of Kafka 4 can ask. */
final class Since4Scenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("group_config_changes", Since4Scenarios::groupChanges);
        ALL.put("list_config_resources", Since4Scenarios::configResources);
        ALL.put("fenced_brokers", Since4Scenarios::fencedBrokers);
        ALL.put("offsets_since_4", Since4Scenarios::offsets);
        ALL.put("transactions_by_pattern", Since4Scenarios::transactions);
        ALL.put("groups_outlive_a_restart", world -> GroupScenarios.outliveRestart(world, List.of("classic", "consumer")));
    }

    private static void groupChanges(World world) {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, world.prefix + "group");
        ConfigScenarios.describe(world, "untouched", group, ConfigScenarios.IN_FULL);
        ConfigScenarios.alter(world, group, false, OpType.SET, "consumer.session.timeout.ms", "50000");
        ConfigScenarios.alter(world, group, false, OpType.SET, "consumer.session.timeout.ms", "1");
        ConfigScenarios.alter(world, group, false, OpType.SET, "consumer.heartbeat.interval.ms", "often");
        ConfigScenarios.alter(world, group, false, OpType.SET, "no.such.key", "1");
        ConfigScenarios.describe(world, "changed", group, ConfigScenarios.IN_FULL);
        ConfigScenarios.alter(world, group, false, OpType.DELETE, "consumer.session.timeout.ms", "");
        ConfigScenarios.alter(world, new ConfigResource(ConfigResource.Type.GROUP, ""), false, OpType.SET, "consumer.session.timeout.ms", "50000");
    }

    private static void configResources(World world) throws Exception {
        world.topic("resource", 1);
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, world.prefix + "listed");
        var set = new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), OpType.SET);
        World.got(world.admin.incrementalAlterConfigs(Map.of(group, List.of(set))).all());
        for (ConfigResource.Type type : ConfigResource.Type.values()) {
            world.attempt("of " + type, () -> World.got(world.admin.listConfigResources(Set.of(type), new ListConfigResourcesOptions()).all())
                    .stream().filter(found -> isOurs(world, found)).sorted(Comparator.comparing(ConfigResource::name)).toList());
        }
        world.attempt("of all", () -> World.got(world.admin.listConfigResources().all()).stream()
                .filter(found -> isOurs(world, found)).map(ConfigResource::toString).sorted().toList());
    }

    private static boolean isOurs(World world, ConfigResource found) {
        return found.type() != ConfigResource.Type.TOPIC || found.name().equals(world.prefix + "resource");
    }

    private static void fencedBrokers(World world) {
        world.attempt("nodes", () -> Reading.withoutPorts(World.got(
                world.admin.describeCluster(new DescribeClusterOptions().includeFencedBrokers(true)).nodes())));
    }

    private static void offsets(World world) throws Exception {
        String topic = world.topic("offsets-since-4", 1);
        world.fill(topic, 0, 5);
        world.attempt("earliest pending upload", () -> TopicScenarios.offset(
                world, new TopicPartition(topic, 0), OffsetSpec.earliestPendingUpload(), IsolationLevel.READ_UNCOMMITTED));
    }

    private static void transactions(World world) {
        for (String pattern : List.of("a.*", "(")) {
            var options = new ListTransactionsOptions().filterOnTransactionalIdPattern(pattern);
            world.attempt("like " + pattern, () -> World.got(world.admin.listTransactions(options).all()));
        }
    }
}
