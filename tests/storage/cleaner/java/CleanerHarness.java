import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LastRecord;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Runs Kafka's own cleaner on log directories. A line of input is
 *   directory first_dirty_offset uncleanable_offset now_ms delete_retention_ms segment_bytes key_map_bytes
 * and the answer is a line "producer ID LAST_DATA_OFFSET EPOCH" for every producer that the log knows (-1: none), then
 * "end OFFSET", the first offset that was not cleaned. Producers are read from the log; nothing else is recovered.
 */
public class CleanerHarness {
    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.trim().split(" ");
            clean(new File(words[0]), Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]),
                words[4], words[5], Integer.parseInt(words[6]));
        }
    }

    private static void clean(File directory, long firstDirty, long uncleanable, long now, String deleteRetention,
                              String segmentBytes, int mapBytes) throws Exception {
        Properties properties = new Properties();
        properties.put("cleanup.policy", "compact");
        properties.put("delete.retention.ms", deleteRetention);
        properties.put(LogConfig.INTERNAL_SEGMENT_BYTES_CONFIG, segmentBytes);
        properties.put("segment.ms", Long.toString(Long.MAX_VALUE));
        Time time = new StoppedTime(now);
        UnifiedLog log = UnifiedLog.create(directory, new LogConfig(properties), 0L, Long.MAX_VALUE, new NoScheduler(),
            new BrokerTopicStats(), time, 900_000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600_000,
            new LogDirFailureChannel(1), false, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        for (Map.Entry<Long, LastRecord> entry : new TreeMap<>(log.lastRecordsOfActiveProducers()).entrySet()) {
            LastRecord last = entry.getValue();
            System.out.println("producer " + entry.getKey() + " " + last.lastDataOffset().orElse(-1L) + " "
                + last.producerEpoch());
        }
        Throttler throttler = new Throttler(Double.MAX_VALUE, 1000, "cleaner", "bytes", time);
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(mapBytes), 65536, 1 << 20, 0.9, throttler, time, partition -> { });
        long end = cleaner.doClean(new LogToClean(log, firstDirty, uncleanable, true), now).getKey();
        log.close();
        System.out.println("end " + end);
        System.out.flush();
    }

    private record StoppedTime(long now) implements Time {
        public long milliseconds() {
            return now;
        }

        public long nanoseconds() {
            return System.nanoTime();
        }

        public void sleep(long ms) {
        }

        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
        }
    }

    private static class NoScheduler implements Scheduler {
        public void startup() {
        }

        public void shutdown() {
        }

        public ScheduledFuture<?> schedule(String name, Runnable task, long delay, long period) {
            // Nothing is ever run, and all that is asked of the future is to be cancelled.
            return (ScheduledFuture<?>) Proxy.newProxyInstance(CleanerHarness.class.getClassLoader(),
                new Class<?>[] {ScheduledFuture.class}, (proxy, method, arguments) -> true);
        }

        public void resizeThreadPool(int size) {
        }
    }
}
