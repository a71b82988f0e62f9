import java.util.List;
import java.util.TreeMap;
import java.util.Map;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;

/** Configurations, told in words that do not change from run to run. */
final class Configs {
    /** What depends on the directory, the ports or the machine. */
    private static final List<String> OF_THIS_RUN = List.of(
            "advertised.listeners", "controller.quorum.bootstrap.servers", "listeners", "log.dirs", "log.dir");

    private Configs() {}

    /** All entries but those of Ottla alone (`cluster.id` for one), a line each. */
    static String told(Config config) {
        Map<String, String> lines = new TreeMap<>();
        for (ConfigEntry entry : config.entries()) {
            if (!entry.name().startsWith("ottla.") && !entry.name().equals("cluster.id")) {
                lines.put(entry.name(), told(entry));
            }
        }
        return String.join("\n", lines.values());
    }

    static String told(ConfigEntry entry) {
        List<String> synonyms = entry.synonyms().stream()
                .map(synonym -> synonym.name() + "=" + value(synonym.name(), synonym.value()) + " by " + synonym.source())
                .toList();
        return entry.name() + "=" + value(entry.name(), entry.value()) + " by " + entry.source() + " " + entry.type()
                + (entry.isReadOnly() ? " read-only" : "") + (entry.isSensitive() ? " secret" : "")
                + (entry.documentation() == null || entry.documentation().isEmpty() ? "" : " documented")
                + (synonyms.isEmpty() ? "" : " " + synonyms);
    }

    private static String value(String name, String value) {
        return value != null && OF_THIS_RUN.contains(name) ? "MASKED" : value;
    }
}
