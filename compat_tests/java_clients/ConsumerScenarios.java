import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Consumers that are told what to read: by the classic consumer and by the one of KIP-848, neither in a group. */
final class ConsumerScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        for (String protocol : List.of("classic", "consumer")) {
            ALL.put("seek_" + protocol, world -> seek(world, protocol));
            ALL.put("offset_lookups_" + protocol, world -> lookups(world, protocol));
            ALL.put("out_of_range_" + protocol, world -> outOfRange(world, protocol));
        }
        ALL.put("pause_and_resume", ConsumerScenarios::pauseAndResume);
        ALL.put("many_partitions", ConsumerScenarios::manyPartitions);
        ALL.put("read_committed", ConsumerScenarios::readCommitted);
        ALL.put("small_fetches", ConsumerScenarios::smallFetches);
        ALL.put("changing_assignment", ConsumerScenarios::changingAssignment);
        ALL.put("waiting_for_records", ConsumerScenarios::waitingForRecords);
        ALL.put("topics_as_consumers_see_them", ConsumerScenarios::topics);
    }

    private static Consumer<String, String> consumer(World world, String protocol, String reset) {
        return world.consumer("group.protocol", protocol, "auto.offset.reset", reset);
    }

    private static void seek(World world, String protocol) throws Exception {
        String topic = world.topic("seek-" + protocol, 2);
        world.fill(topic, 0, 50);
        world.fill(topic, 1, 10);
        TopicPartition first = new TopicPartition(topic, 0);
        TopicPartition second = new TopicPartition(topic, 1);
        try (Consumer<String, String> consumer = consumer(world, protocol, "earliest")) {
            consumer.assign(List.of(first, second));
            world.say("assignment", consumer.assignment().size());
            world.say("positions", consumer.position(first) + " " + consumer.position(second));
            consumer.seek(first, 45);
            consumer.seekToEnd(List.of(second));
            world.say("from 45", Reading.values(Reading.next(consumer, 5)));
            world.say("positions", consumer.position(first) + " " + consumer.position(second));
            consumer.seekToBeginning(List.of(second));
            world.say("from the beginning", Reading.values(Reading.next(consumer, 10)));
            consumer.seek(first, 49);
            world.say("the last", Reading.next(consumer, 1).stream().map(Reading::told).toList());
            world.say("lag", consumer.currentLag(first) + " " + consumer.currentLag(second));
        }
        try (Consumer<String, String> consumer = consumer(world, protocol, "latest")) {
            consumer.assign(List.of(first, second));
            world.say("latest", consumer.position(first) + " " + consumer.position(second));
        }
    }

    private static void lookups(World world, String protocol) throws Exception {
        String topic = world.topic("lookups-" + protocol, 3);
        world.fill(topic, 0, 100);
        world.fill(topic, 1, 20);
        List<TopicPartition> partitions = Reading.partitions(topic, 3);
        World.got(world.admin.deleteRecords(Map.of(partitions.get(1), RecordsToDelete.beforeOffset(7))).all());
        try (Consumer<String, String> consumer = consumer(world, protocol, "earliest")) {
            world.say("beginning", sorted(consumer.beginningOffsets(partitions)));
            world.say("end", sorted(consumer.endOffsets(partitions)));
            for (long timestamp : new long[] {0, World.FIRST_TIMESTAMP + 3, World.FIRST_TIMESTAMP + 42}) {
                Map<TopicPartition, Long> asked = new HashMap<>();
                partitions.subList(0, 1).forEach(partition -> asked.put(partition, timestamp));
                world.say("at " + timestamp, sorted(consumer.offsetsForTimes(asked)));
            }
            world.say("deleted", sorted(consumer.offsetsForTimes(Map.of(partitions.get(1), World.FIRST_TIMESTAMP))));
            if (!protocol.equals("consumer")) { // 3.9's new consumer fails on "there is none", whoever answers
                world.say("after all", sorted(consumer.offsetsForTimes(Map.of(partitions.get(0), Long.MAX_VALUE))));
                world.say("of nothing", sorted(consumer.offsetsForTimes(Map.of(partitions.get(2), 0L))));
            }
            TopicPartition unknown = new TopicPartition(topic, 9);
            world.attempt("unknown", () -> consumer.endOffsets(List.of(unknown), Duration.ofMillis(500)));
        }
    }

    private static <V> Map<String, V> sorted(Map<TopicPartition, V> offsets) {
        Map<String, V> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) -> sorted.put(partition.toString(), offset));
        return sorted;
    }

    private static void outOfRange(World world, String protocol) throws Exception {
        String topic = world.topic("range-" + protocol, 1);
        world.fill(topic, 0, 10);
        TopicPartition partition = new TopicPartition(topic, 0);
        for (String reset : List.of("earliest", "latest", "none")) {
            try (Consumer<String, String> consumer = consumer(world, protocol, reset)) {
                consumer.assign(List.of(partition));
                world.attempt("position by " + reset, () -> consumer.position(partition));
                consumer.seek(partition, 1000);
                if (reset.equals("earliest")) {
                    world.say("by earliest", Reading.values(Reading.next(consumer, 10)));
                } else if (reset.equals("none")) {
                    world.attempt("by none", () -> Reading.next(consumer, 1));
                }
            }
        }
    }

    private static void pauseAndResume(World world) throws Exception {
        String topic = world.topic("pause", 2);
        world.fill(topic, 0, 10);
        world.fill(topic, 1, 20);
        List<TopicPartition> partitions = Reading.partitions(topic, 2);
        try (Consumer<String, String> consumer = world.consumer()) {
            consumer.assign(partitions);
            consumer.pause(List.of(partitions.get(1)));
            world.say("paused", consumer.paused());
            world.say("first only", Reading.next(consumer, 10).stream().map(record -> record.partition()).distinct().toList());
            consumer.resume(List.of(partitions.get(1)));
            world.say("then the second", Reading.next(consumer, 20).stream().map(record -> record.partition()).distinct().toList());
        }
    }

    private static void manyPartitions(World world) throws Exception {
        String topic = world.topic("many", 60);
        try (Producer<String, String> producer = world.producer("linger.ms", 5)) {
            for (int index = 0; index < 600; index++) {
                producer.send(new ProducerRecord<>(topic, index % 60, World.FIRST_TIMESTAMP + index, "key", "value-" + index));
            }
        }
        world.say("all", Reading.all(world, topic, 60, 600).stream().map(Reading::told).toList());
        try (Consumer<String, String> consumer = world.consumer()) {
            consumer.assign(Reading.partitions(topic, 60));
            consumer.seekToEnd(List.of());
            long sum = 0;
            for (TopicPartition partition : consumer.assignment()) {
                sum += consumer.position(partition);
            }
            world.say("sum of ends", sum);
        }
    }

    private static void readCommitted(World world) throws Exception {
        String topic = world.topic("committed", 1);
        world.fill(topic, 0, 30);
        try (Consumer<String, String> consumer = world.consumer("isolation.level", "read_committed")) {
            List<TopicPartition> partitions = Reading.partitions(topic, 1);
            consumer.assign(partitions);
            world.say("values", Reading.values(Reading.next(consumer, 30)));
            world.say("end", consumer.endOffsets(partitions));
            world.say("at 7", consumer.offsetsForTimes(Map.of(partitions.get(0), World.FIRST_TIMESTAMP + 7)));
        }
    }

    private static void smallFetches(World world) throws Exception {
        String topic = world.topic("small-fetches", 3);
        for (int partition = 0; partition < 3; partition++) {
            world.fill(topic, partition, 40);
        }
        Object[][] settings = {
            {"fetch.max.bytes", 1, "max.poll.records", 7},
            {"max.partition.fetch.bytes", 1},
            {"fetch.min.bytes", 100_000, "fetch.max.wait.ms", 50},
        };
        for (Object[] setting : settings) {
            try (Consumer<String, String> consumer = world.consumer(setting)) {
                consumer.assign(Reading.partitions(topic, 3));
                world.say(setting[0].toString(), Reading.next(consumer, 120).stream().map(Reading::told).toList());
            }
        }
    }

    private static void changingAssignment(World world) throws Exception {
        String topic = world.topic("changing", 3);
        for (int partition = 0; partition < 3; partition++) {
            world.fill(topic, partition, 10);
        }
        List<TopicPartition> partitions = Reading.partitions(topic, 3);
        try (Consumer<String, String> consumer = world.consumer()) {
            for (List<TopicPartition> assigned : List.of(partitions.subList(0, 1), partitions.subList(1, 3), partitions)) {
                consumer.assign(assigned);
                consumer.seekToBeginning(assigned);
                world.say(assigned.toString(), Reading.next(consumer, 10 * assigned.size()).stream().map(Reading::told).toList());
            }
            consumer.unsubscribe();
            world.say("nothing", consumer.assignment());
        }
    }

    /** The consumer asks first; what is sent then ends its wait. */
    private static void waitingForRecords(World world) throws Exception {
        String topic = world.topic("waiting", 2);
        List<String> came = new ArrayList<>();
        try (Consumer<String, String> consumer = world.consumer("fetch.max.wait.ms", 2000, "fetch.min.bytes", 1);
                Producer<String, String> producer = world.producer()) {
            consumer.assign(Reading.partitions(topic, 2));
            consumer.poll(Duration.ofMillis(100));
            for (int index = 0; index < 10; index++) {
                producer.send(new ProducerRecord<>(topic, index % 2, null, "value-" + index)).get(World.SECONDS_MAX, TimeUnit.SECONDS);
                came.addAll(Reading.values(Reading.next(consumer, 1)));
            }
        }
        world.say("in turn", came);
    }

    private static void topics(World world) throws Exception {
        String topic = world.topic("seen", 2);
        try (Consumer<String, String> consumer = world.consumer("allow.auto.create.topics", false)) {
            world.say("partitions", Reading.withoutPorts(consumer.partitionsFor(topic)));
            world.say("listed", Reading.withoutPorts(consumer.listTopics().get(topic)));
            world.attempt("unknown", () -> consumer.partitionsFor(world.prefix + "nowhere"));
            world.attempt("invalid", () -> consumer.partitionsFor("a b"));
        }
    }
}
