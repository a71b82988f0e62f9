import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;

/** What Apache Kafka does only with a plug-in, and Ottla by itself. */
final class OttlaScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("telemetry", OttlaScenarios::telemetry);
    }

    private static void telemetry(World world) {
        Duration wait = Duration.ofSeconds(World.SECONDS_MAX);
        try (Producer<String, String> producer = world.producer();
                Consumer<String, String> consumer = world.consumer();
                var admin = world.admin(Map.of("bootstrap.servers", world.bootstrap, "enable.metrics.push", true))) {
            consumer.assign(List.of());
            world.attempt("producer", () -> isId(producer.clientInstanceId(wait)));
            world.attempt("admin", () -> isId(admin.clientInstanceId(wait)));
        }
        try (Producer<String, String> producer = world.producer("enable.metrics.push", false)) {
            world.attempt("switched off", () -> isId(producer.clientInstanceId(wait)));
        }
    }

    private static String isId(Object id) {
        return "an id of " + String.valueOf(id).length() + " letters";
    }
}
