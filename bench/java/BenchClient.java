import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.tools.ConsumerPerformance;
import org.apache.kafka.tools.ProducerPerformance;

/**
 * Kafka's own clients as a load, in one process that stays warm. A command a line, words parted by tabs; an answer a
 * line, which begins with "ok" or "failed".
 *
 *   produce ARGUMENTS...                              runs ProducerPerformance, answers its last line
 *   group ARGUMENTS...                                runs ConsumerPerformance, answers its last line
 *   consume BOOTSTRAP TOPIC PARTITIONS COUNT PASSES   answers nanoseconds and bytes
 *   latency BOOTSTRAP TOPIC RATE COUNT SKIPPED        answers p50 and p99, from send to poll, in nanoseconds
 *   one BOOTSTRAP TOPIC                               sends one record, by the producer that sent the one before if that
 *                                                     was to the same topic, and answers when it is acknowledged
 */
public final class BenchClient {
    private static final Duration POLL = Duration.ofSeconds(1);
    private static final int EMPTY_POLLS_MAX = 60;
    private static final int LATENCY_RECORD_BYTES = 100;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String answer;
            try {
                answer = "ok\t" + run(line.split("\t"));
            } catch (Exception failure) {
                answer = "failed\t" + failure;
            }
            answers.println(answer.replace('\n', ' '));
            answers.flush();
        }
    }

    private static String run(String[] words) throws Exception {
        switch (words[0]) {
            case "produce":
                return lastLine(ProducerPerformance::main, Arrays.copyOfRange(words, 1, words.length));
            case "group":
                return lastLine(ConsumerPerformance::main, Arrays.copyOfRange(words, 1, words.length));
            case "consume":
                return consume(words[1], partitions(words[2], Integer.parseInt(words[3])),
                    Long.parseLong(words[4]), Integer.parseInt(words[5]));
            case "latency":
                return latency(words[1], words[2], Integer.parseInt(words[3]), Integer.parseInt(words[4]),
                    Integer.parseInt(words[5]));
            case "one":
                return one(words[1], words[2]);
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private interface Tool {
        void main(String[] arguments) throws Exception;
    }

    private static String lastLine(Tool tool, String[] arguments) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        System.setOut(new PrintStream(printed, true));
        try {
            tool.main(arguments);
        } finally {
            System.setOut(before);
        }
        String[] lines = printed.toString().trim().split("\n");
        return lines[lines.length - 1];
    }

    /** A new consumer for every pass: an old one would first wait for its Fetch at the end of the topic. */
    private static String consume(String bootstrap, List<TopicPartition> partitions, long count, int passes) {
        long nanoseconds = 0;
        long bytes = 0;
        for (int pass = 0; pass < passes; pass++) {
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consuming(bootstrap))) {
                consumer.assign(partitions);
                consumer.seekToBeginning(partitions);
                // This asks for metadata and offsets now, before the clock runs.
                partitions.forEach(consumer::position);
                long started = System.nanoTime();
                bytes += read(consumer, count);
                nanoseconds += System.nanoTime() - started;
            }
        }
        return nanoseconds + "\t" + bytes;
    }

    private static long read(KafkaConsumer<byte[], byte[]> consumer, long count) {
        long seen = 0;
        long bytes = 0;
        int emptyPolls = 0;
        while (seen < count) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
            emptyPolls = records.isEmpty() ? emptyPolls + 1 : 0;
            if (emptyPolls > EMPTY_POLLS_MAX) {
                throw new IllegalStateException("only " + seen + " of " + count + " records came");
            }
            for (ConsumerRecord<byte[], byte[]> record : records) {
                bytes += record.value().length;
            }
            seen += records.count();
        }
        return bytes;
    }

    private static String latency(String bootstrap, String topic, int rate, int count, int skipped) throws Exception {
        long[] latencies = new long[count];
        List<TopicPartition> partitions = partitions(topic, 1);
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consuming(bootstrap));
             KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(producing(bootstrap))) {
            producer.partitionsFor(topic);
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            Thread sender = new Thread(() -> send(producer, topic, rate, count, failure));
            sender.start();
            int seen = 0;
            int emptyPolls = 0;
            while (seen < count && failure.get() == null && emptyPolls <= EMPTY_POLLS_MAX) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
                long now = System.nanoTime();
                emptyPolls = records.isEmpty() ? emptyPolls + 1 : 0;
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    latencies[seen++] = now - ByteBuffer.wrap(record.value()).getLong();
                }
            }
            sender.join();
            if (failure.get() != null) {
                throw failure.get();
            }
            if (seen < count) {
                throw new IllegalStateException("only " + seen + " of " + count + " records came");
            }
        }
        long[] counted = Arrays.copyOfRange(latencies, skipped, count);
        Arrays.sort(counted);
        return counted[counted.length / 2] + "\t" + counted[counted.length * 99 / 100];
    }

    private static void send(
        KafkaProducer<byte[], byte[]> producer, String topic, int rate, int count, AtomicReference<Exception> failure
    ) {
        long interval = 1_000_000_000L / rate;
        long due = System.nanoTime();
        for (int number = 0; number < count; number++, due += interval) {
            while (System.nanoTime() < due) {
                LockSupport.parkNanos(due - System.nanoTime());
            }
            byte[] value = new byte[LATENCY_RECORD_BYTES];
            ByteBuffer.wrap(value).putLong(System.nanoTime());
            producer.send(new ProducerRecord<>(topic, 0, null, value), (metadata, error) -> {
                if (error != null) {
                    failure.set(error);
                }
            });
        }
    }

    private static KafkaProducer<byte[], byte[]> stayingProducer;
    private static String stayingTopic;

    private static String one(String bootstrap, String topic) throws Exception {
        if (!topic.equals(stayingTopic)) {
            if (stayingProducer != null) {
                stayingProducer.close();
            }
            stayingProducer = new KafkaProducer<>(producing(bootstrap));
            stayingTopic = topic;
        }
        byte[] value = new byte[LATENCY_RECORD_BYTES];
        return Long.toString(stayingProducer.send(new ProducerRecord<>(topic, 0, null, value)).get().offset());
    }

    private static List<TopicPartition> partitions(String topic, int count) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            partitions.add(new TopicPartition(topic, number));
        }
        return partitions;
    }

    private static Properties consuming(String bootstrap) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.deserializer", ByteArrayDeserializer.class);
        properties.put("value.deserializer", ByteArrayDeserializer.class);
        properties.put("enable.auto.commit", "false");
        return properties;
    }

    private static Properties producing(String bootstrap) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.serializer", ByteArraySerializer.class);
        properties.put("value.serializer", ByteArraySerializer.class);
        properties.put("linger.ms", "0");
        return properties;
    }
}
