import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/** What clients of Kafka 4 can no longer ask. */
final class Before4Scenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("configs_replaced_as_a_whole", Before4Scenarios::replaceConfigs);
        ALL.put("groups_outlive_a_restart", world -> GroupScenarios.outliveRestart(world, List.of("classic")));
    }

    @SuppressWarnings("deprecation")
    private static void replaceConfigs(World world) throws Exception {
        ConfigResource topic = new ConfigResource(
                ConfigResource.Type.TOPIC, world.topic("replaced", 1, "retention.ms=5000", "segment.ms=70000"));
        for (ConfigEntry entry : List.of(
                new ConfigEntry("retention.ms", "7000"), new ConfigEntry("retention.ms", "x"), new ConfigEntry("no.such.key", "1"))) {
            Config config = new Config(List.of(entry));
            AlterConfigsOptions checked = new AlterConfigsOptions().validateOnly(true);
            world.attempt(entry.name() + "=" + entry.value() + ", checked",
                    () -> World.got(world.admin.alterConfigs(Map.of(topic, config), checked).all()));
            world.attempt(entry.name() + "=" + entry.value(), () -> World.got(world.admin.alterConfigs(Map.of(topic, config)).all()));
            ConfigScenarios.describeSet(world, topic);
        }
    }
}
