import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;

/** What producers send, and what is told of it and read back. */
final class ProducerScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            ALL.put("produce_" + codec, world -> codec(world, codec));
        }
        ALL.put("produce_to_a_topic_with_a_codec_of_its_own", ProducerScenarios::topicCodec);
        ALL.put("headers_and_nulls", ProducerScenarios::headersAndNulls);
        ALL.put("one_megabyte", ProducerScenarios::oneMegabyte);
        ALL.put("acks", ProducerScenarios::acks);
        ALL.put("idempotent", ProducerScenarios::idempotent);
        ALL.put("log_append_time", ProducerScenarios::logAppendTime);
        ALL.put("refused_records", ProducerScenarios::refusedRecords);
        ALL.put("unknown_topic", ProducerScenarios::unknownTopic);
        ALL.put("partitions_for", ProducerScenarios::partitionsFor);
        ALL.put("telemetry", ProducerScenarios::telemetry);
    }

    private static void codec(World world, String codec) throws Exception {
        String topic = world.topic("codec-" + codec, 2);
        sendMixed(world, topic, codec);
        sayAllOf(world, topic, 2, 200);
    }

    private static void topicCodec(World world) throws Exception {
        for (String codec : List.of("uncompressed", "gzip", "zstd")) {
            String topic = world.topic("own-codec-" + codec, 2, "compression.type=" + codec);
            sendMixed(world, topic, "lz4");
            sayAllOf(world, topic, 2, 200);
        }
    }

    private static void sendMixed(World world, String topic, String codec) {
        Random random = new Random(7);
        try (Producer<String, String> producer = world.producer("compression.type", codec, "linger.ms", 20)) {
            for (int index = 0; index < 200; index++) {
                String key = index % 3 == 0 ? null : "key-" + index;
                String value = index % 7 == 1 ? null : "value ".repeat(random.nextInt(200));
                long timestamp = World.FIRST_TIMESTAMP + index;
                var record = new ProducerRecord<>(topic, index % 2, timestamp, key, value);
                record.headers().add("number", String.valueOf(index).getBytes(StandardCharsets.UTF_8));
                producer.send(record);
            }
        }
    }

    private static void sayAllOf(World world, String topic, int partitions, int count) {
        List<ConsumerRecord<String, String>> records = Reading.all(world, topic, partitions, count);
        world.say(topic, records.stream().map(Reading::told).collect(Collectors.joining("\n")));
    }

    private static void headersAndNulls(World world) throws Exception {
        String topic = world.topic("headers", 1);
        try (Producer<String, String> producer = world.producer()) {
            var record = new ProducerRecord<String, String>(topic, 0, World.FIRST_TIMESTAMP, null, null);
            record.headers().add(new RecordHeader("null", null)).add("empty", new byte[0]);
            record.headers().add("twice", new byte[] {1}).add("twice", new byte[] {2, -1}).add("", new byte[] {3});
            RecordMetadata sent = producer.send(record).get(World.SECONDS_MAX, TimeUnit.SECONDS);
            world.say("metadata", sent + " " + sent.timestamp() + " " + sent.serializedKeySize());
            producer.send(new ProducerRecord<>(topic, 0, World.FIRST_TIMESTAMP, "", ""));
            producer.send(new ProducerRecord<>(topic, 0, 0L, "ключ", "värde \uD83D\uDE00"));
        }
        sayAllOf(world, topic, 1, 3);
    }

    private static void oneMegabyte(World world) throws Exception {
        String topic = world.topic("megabyte", 1, "max.message.bytes=2000000");
        Random random = new Random(1);
        List<Integer> sent = new ArrayList<>();
        try (Producer<String, String> producer = world.producer("max.request.size", 2_000_000)) {
            for (int index = 0; index < 5; index++) {
                String value = random.ints(1_000_000, 'a', 'z').mapToObj(c -> String.valueOf((char) c)).collect(Collectors.joining());
                sent.add(value.hashCode());
                producer.send(new ProducerRecord<>(topic, 0, World.FIRST_TIMESTAMP, null, value));
            }
        }
        List<Integer> read = Reading.all(world, topic, 1, 5).stream().map(record -> record.value().hashCode()).toList();
        world.say("same as sent", read.equals(sent));
    }

    private static void acks(World world) throws Exception {
        String topic = world.topic("acks", 1);
        for (String acks : List.of("0", "1", "all")) {
            try (Producer<String, String> producer = world.producer("acks", acks, "enable.idempotence", false)) {
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int index = 0; index < 10; index++) {
                    sent.add(producer.send(new ProducerRecord<>(topic, 0, World.FIRST_TIMESTAMP, acks, "value-" + index)));
                }
                RecordMetadata last = sent.get(9).get(World.SECONDS_MAX, TimeUnit.SECONDS);
                world.say("acks " + acks, last.hasOffset() + " " + last.offset() + " " + last.timestamp());
            }
        }
        sayAllOf(world, topic, 1, 30);
    }

    private static void idempotent(World world) throws Exception {
        String topic = world.topic("idempotent", 3);
        try (Producer<String, String> producer =
                world.producer("enable.idempotence", true, "max.in.flight.requests.per.connection", 5, "batch.size", 200)) {
            for (int index = 0; index < 300; index++) {
                producer.send(new ProducerRecord<>(topic, index % 3, World.FIRST_TIMESTAMP + index, "key", "value-" + index));
            }
            producer.flush();
            List<TopicPartition> partitions = Reading.partitions(topic, 3);
            var described = World.got(world.admin.describeProducers(partitions).all());
            for (TopicPartition partition : partitions) {
                described.get(partition).activeProducers().forEach(state -> world.say(
                        partition.toString(),
                        state.producerEpoch() + " " + state.lastSequence() + " " + state.lastTimestamp()
                                + " " + state.coordinatorEpoch() + " " + state.currentTransactionStartOffset()));
            }
        }
        sayAllOf(world, topic, 3, 300);
    }

    private static void logAppendTime(World world) throws Exception {
        String topic = world.topic("append-time", 1, "message.timestamp.type=LogAppendTime");
        long before = System.currentTimeMillis();
        List<Long> told = new ArrayList<>();
        for (String codec : List.of("none", "gzip", "lz4")) {
            try (Producer<String, String> producer = world.producer("compression.type", codec)) {
                var record = new ProducerRecord<>(topic, 0, World.FIRST_TIMESTAMP, "key", codec);
                told.add(producer.send(record).get(World.SECONDS_MAX, TimeUnit.SECONDS).timestamp());
            }
        }
        var records = Reading.all(world, topic, 1, 3);
        world.say("as told", records.stream().map(ConsumerRecord::timestamp).toList().equals(told));
        world.say("the broker's", told.get(0) >= before);
        world.say("types", records.stream().map(ConsumerRecord::timestampType).toList());
    }

    private static void refusedRecords(World world) throws Exception {
        String small = world.topic("small", 1, "max.message.bytes=1000");
        String compacted = world.topic("compacted", 1, "cleanup.policy=compact");
        String timely = world.topic("timely", 1, "message.timestamp.before.max.ms=1000", "message.timestamp.after.max.ms=1000");
        Map<String, ProducerRecord<String, String>> refused = new LinkedHashMap<>();
        refused.put("too large", new ProducerRecord<>(small, 0, World.FIRST_TIMESTAMP, "key", "x".repeat(5000)));
        refused.put("larger than a request", new ProducerRecord<>(small, 0, World.FIRST_TIMESTAMP, "key", "x".repeat(2_000_000)));
        refused.put("no key", new ProducerRecord<>(compacted, 0, World.FIRST_TIMESTAMP, null, "value"));
        refused.put("too old", new ProducerRecord<>(timely, 0, World.FIRST_TIMESTAMP, "key", "value"));
        refused.put("too new", new ProducerRecord<>(timely, 0, 4_000_000_000_000L, "key", "value"));
        for (boolean idempotence : new boolean[] {true, false}) {
            for (var entry : refused.entrySet()) {
                try (Producer<String, String> producer = world.producer("enable.idempotence", idempotence)) {
                    world.attempt(entry.getKey(), () -> producer.send(entry.getValue()).get(World.SECONDS_MAX, TimeUnit.SECONDS));
                }
            }
        }
        world.say("nothing is there", World.got(world.admin.listOffsets(Reading.latest(small, compacted, timely)).all())
                .values().stream().map(info -> info.offset()).toList());
    }

    private static void unknownTopic(World world) {
        String topic = world.prefix + "nowhere";
        try (Producer<String, String> producer = world.producer("max.block.ms", 500)) {
            world.attempt("send", () -> producer.send(new ProducerRecord<>(topic, "value")).get());
            world.attempt("partitionsFor", () -> producer.partitionsFor(topic));
            world.attempt("invalid name", () -> producer.partitionsFor("a b"));
        }
    }

    private static void partitionsFor(World world) throws Exception {
        String topic = world.topic("partitions", 3);
        try (Producer<String, String> producer = world.producer()) {
            world.say("partitions", Reading.withoutPorts(producer.partitionsFor(topic)));
            Map<Integer, Integer> counts = new HashMap<>();
            for (int index = 0; index < 30; index++) {
                RecordMetadata sent = producer.send(new ProducerRecord<>(topic, "key-" + index, "value")).get();
                counts.merge(sent.partition(), 1, Integer::sum);
            }
            world.say("by key", counts);
        }
    }

    /** Nobody receives metrics here (KIP-714): clients are not told of it, and wait in vain. */
    private static void telemetry(World world) {
        Duration wait = Duration.ofMillis(500);
        try (Producer<String, String> producer = world.producer();
                Admin admin = world.admin(Map.of("bootstrap.servers", world.bootstrap, "enable.metrics.push", true))) {
            world.attempt("producer", () -> producer.clientInstanceId(wait));
            world.attempt("admin", () -> admin.clientInstanceId(wait));
        }
        try (Producer<String, String> producer = world.producer("enable.metrics.push", false)) {
            world.attempt("switched off", () -> producer.clientInstanceId(wait));
        }
    }
}
