import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words: WordCount bootstrap application input output state-directory. Every word that comes is told with its
 * count so far. Prints its state and its tasks whenever they change; ends cleanly when its input does.
 */
public final class WordCount {
    public static void main(String[] arguments) throws Exception {
        KafkaStreams streams = new KafkaStreams(topology(arguments[2], arguments[3]).build(), configs(arguments));
        streams.setStateListener((now, before) -> tell(streams, now));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            System.out.println("failed " + error);
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse
                    .SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() != -1) { }
        boolean isClosed = streams.close(Duration.ofSeconds(60));
        System.out.println(isClosed ? "closed" : "still open");
    }

    private static StreamsBuilder topology(String input, String output) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(input, Consumed.with(Serdes.String(), Serdes.String()))
                .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split("\\W+")))
                .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
                .count(Materialized.as("counted"))
                .toStream()
                .to(output, Produced.with(Serdes.String(), Serdes.Long()));
        return builder;
    }

    private static Properties configs(String[] arguments) {
        Properties configs = new Properties();
        configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        configs.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        configs.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
        configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.AT_LEAST_ONCE);
        // Every update is told, commits follow at once, and what was repartitioned and counted is deleted.
        configs.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
        configs.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        configs.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 100);
        configs.put(StreamsConfig.consumerPrefix("session.timeout.ms"), 6_000);
        configs.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), 200);
        configs.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        // A new assignment is looked for as soon as a task's state has been restored elsewhere.
        configs.put(StreamsConfig.PROBING_REBALANCE_INTERVAL_MS_CONFIG, 60_000);
        return configs;
    }

    private static synchronized void tell(KafkaStreams streams, KafkaStreams.State state) {
        TreeSet<String> tasks = new TreeSet<>();
        if (state == KafkaStreams.State.RUNNING) {
            for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                thread.activeTasks().forEach(task -> tasks.add(task.taskId().toString()));
            }
        }
        System.out.println("state " + state + " " + String.join(",", tasks));
        System.out.flush();
    }
}
