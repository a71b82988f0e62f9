import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a group in a JVM of its own, which can be killed: it says what it is assigned, and lives until then.
 *
 * Arguments: bootstrap servers, protocol, group, topic, session timeout.
 */
public final class DoomedMember {
    private DoomedMember() {}

    static Process start(World world, String protocol, String group, String topic, int sessionTimeoutMs) throws IOException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classes = System.getProperty("java.class.path");
        return new ProcessBuilder(java, "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes,
                "DoomedMember", world.bootstrap, protocol, group, topic, String.valueOf(sessionTimeoutMs))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** Wait until it has as many partitions as that. */
    static String assignment(Process member, int count) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(member.getInputStream(), StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            if (line.equals(String.valueOf(count))) {
                return line;
            }
        }
        return "it ended";
    }

    /** Whoever started it kills it; if that one dies first, its end of the pipe closes. */
    private static void endWithParent() {
        Thread watch = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (IOException error) {
                // The same.
            }
            Runtime.getRuntime().halt(1);
        });
        watch.setDaemon(true);
        watch.start();
    }

    public static void main(String[] arguments) {
        endWithParent();
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.protocol", arguments[1]);
        settings.put("group.id", arguments[2]);
        settings.put("enable.auto.commit", false);
        if (arguments[1].equals("classic")) {
            settings.put("session.timeout.ms", arguments[4]);
            settings.put("heartbeat.interval.ms", 300);
        }
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[3]));
            int said = 0;
            while (true) {
                consumer.poll(Duration.ofMillis(50));
                int count = consumer.assignment().size();
                if (count != said) {
                    System.out.println(count);
                    said = count;
                }
            }
        }
    }
}
