import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Waits until a broker knows what its controller has done: Kafka's answers may come first.
 *
 * `Settle BOOTSTRAP topic NAME PARTITIONS`, 0 for "it is gone"; `Settle BOOTSTRAP feature NAME LEVEL`;
 * `Settle BOOTSTRAP config TYPE NAME KEY VALUE`, `-` for "nobody has set it".
 */
public final class Settle {
    private static final long SECONDS_MAX = 60;

    private interface Condition {
        boolean holds() throws Exception;
    }

    public static void main(String[] words) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", words[0]))) {
            Condition condition = switch (words[1]) {
                case "topic" -> () -> partitions(admin, words[2]) == Integer.parseInt(words[3]);
                case "feature" -> () -> level(admin, words[2]) == Integer.parseInt(words[3]);
                default -> () -> words[5].equals(setting(admin, words[2], words[3], words[4]));
            };
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
            while (!condition.holds()) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("it does not come true: " + String.join(" ", words));
                }
                Thread.sleep(10);
            }
        }
    }

    private static int partitions(Admin admin, String topic) throws Exception {
        if (!admin.listTopics().names().get().contains(topic)) {
            return 0;
        }
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
    }

    private static int level(Admin admin, String feature) throws Exception {
        var found = admin.describeFeatures().featureMetadata().get().finalizedFeatures().get(feature);
        return found == null ? 0 : found.maxVersionLevel();
    }

    private static String setting(Admin admin, String type, String name, String key) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.valueOf(type), name);
        ConfigEntry entry = admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key);
        return entry == null || !entry.source().name().startsWith("DYNAMIC") ? "-" : entry.value();
    }
}
