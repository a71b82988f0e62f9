import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;

/** Reading what is in a topic, and telling it in words that do not change from run to run. */
final class Reading {
    private Reading() {}

    static List<TopicPartition> partitions(String topic, int count) {
        return IntStream.range(0, count).mapToObj(index -> new TopicPartition(topic, index)).toList();
    }

    static Map<TopicPartition, OffsetSpec> latest(String... topics) {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        for (String topic : topics) {
            asked.put(new TopicPartition(topic, 0), OffsetSpec.latest());
        }
        return asked;
    }

    /** All records of a topic, by partition and offset; it fails if they do not come. */
    static List<ConsumerRecord<String, String>> all(World world, String topic, int partitions, int count) {
        try (Consumer<String, String> consumer = world.consumer()) {
            consumer.assign(partitions(topic, partitions));
            return next(consumer, count);
        }
    }

    /** As many records as there must be, by partition and offset. */
    static List<ConsumerRecord<String, String>> next(Consumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> records = new ArrayList<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(World.SECONDS_MAX).toNanos();
        while (records.size() < count) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("only " + records.size() + " of " + count + " records came");
            }
            consumer.poll(Duration.ofMillis(500)).forEach(records::add);
        }
        records.sort(Comparator.comparing((ConsumerRecord<String, String> record) -> record.topic())
                .thenComparing(ConsumerRecord::partition)
                .thenComparing(ConsumerRecord::offset));
        return records;
    }

    static String told(ConsumerRecord<String, String> record) {
        List<String> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(header.key() + "=" + Arrays.toString(header.value()));
        }
        return record.partition() + " " + record.offset() + " " + record.timestamp() + " " + record.leaderEpoch()
                + " " + record.key() + " " + record.value() + " " + headers;
    }

    static List<String> values(Collection<ConsumerRecord<String, String>> records) {
        return records.stream().map(ConsumerRecord::value).toList();
    }

    /** Text in which every port of this machine is the same. */
    static String withoutPorts(Object told) {
        return String.valueOf(told).replaceAll("127\\.0\\.0\\.1:\\d+", "127.0.0.1:PORT");
    }
}
