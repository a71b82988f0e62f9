import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer and a consumer of Java's in one process, which print the events of a history as lines of JSON.
 *
 * Arguments: bootstrap servers, topic, number of partitions. It produces until it reads the line "enough", and says
 * "produced" when all is answered for; the next line has the ends of all partitions, to which it reads before it ends.
 */
public final class FaultyLoad {
    private static final String PRODUCER = "java";
    private static final String CONSUMER = "java-along";
    private static final int REQUEST_MS_MAX = 4_000;
    private static final int FOREVER_MS = 3_600_000;
    private static final int AT_A_TIME = 6;
    private static final long PAUSE_MS = 50;
    private static final int IN_FLIGHT_MAX = 600;

    private static volatile boolean enough = false;
    private static volatile long[] ends = null;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        Thread producing = new Thread(() -> produce(arguments[0], topic, partitions));
        Thread consuming = new Thread(() -> consume(arguments[0], topic, partitions));
        producing.start();
        consuming.start();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        expect("enough".equals(orders.readLine()));
        enough = true;
        producing.join();
        System.out.println("produced");
        String line = orders.readLine();
        expect(line != null);
        String[] words = line.split(" ");
        long[] found = new long[words.length];
        for (int index = 0; index < words.length; index++) {
            found[index] = Long.parseLong(words[index]);
        }
        ends = found;
        consuming.join();
    }

    /** Whoever gives the orders is gone: so are we, threads and all. */
    private static void expect(boolean isSo) {
        if (!isSo) {
            Runtime.getRuntime().halt(1);
        }
    }

    private static Map<String, Object> shared(String bootstrap) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("reconnect.backoff.ms", 50);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put("request.timeout.ms", REQUEST_MS_MAX);
        settings.put("socket.connection.setup.timeout.ms", 2_000);
        settings.put("socket.connection.setup.timeout.max.ms", 4_000);
        settings.put("metadata.max.age.ms", 2_000);
        return settings;
    }

    private static void produce(String bootstrap, String topic, int partitions) {
        Map<String, Object> settings = shared(bootstrap);
        settings.put("acks", "all");
        settings.put("enable.idempotence", true);
        settings.put("delivery.timeout.ms", FOREVER_MS);
        settings.put("max.block.ms", FOREVER_MS);
        settings.put("linger.ms", 5);
        Semaphore free = new Semaphore(IN_FLIGHT_MAX);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; !enough; number++) {
                if (!free.tryAcquire()) {
                    Thread.sleep(PAUSE_MS);
                    number--;
                    continue;
                }
                int partition = number % partitions;
                String value = PRODUCER + "/" + partition + "/" + number;
                tell("sent", "producer", PRODUCER, partition, ", \"value\": \"" + value + "\"");
                producer.send(new ProducerRecord<>(topic, partition, null, value), (metadata, error) -> {
                    if (error == null) {
                        String where = metadata.hasOffset() ? ", \"offset\": " + metadata.offset() : "";
                        tell("acknowledged", "producer", PRODUCER, partition, ", \"value\": \"" + value + "\"" + where);
                    } else {
                        String more = ", \"value\": \"" + value + "\", \"error\": \"" + plain(error) + "\"";
                        tell("refused", "producer", PRODUCER, partition, more);
                    }
                    free.release();
                });
                if (number % AT_A_TIME == 0) {
                    Thread.sleep(PAUSE_MS);
                }
            }
            producer.flush();
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(2);
        }
    }

    private static void consume(String bootstrap, String topic, int partitions) {
        Map<String, Object> settings = shared(bootstrap);
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "none");
        settings.put("fetch.max.wait.ms", 100);
        List<TopicPartition> places = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            places.add(new TopicPartition(topic, partition));
        }
        long[] next = new long[partitions];
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(places);
            for (TopicPartition place : places) {
                consumer.seek(place, 0);
            }
            while (!isDone(next)) {
                try {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(PAUSE_MS))) {
                        String more = ", \"value\": \"" + record.value() + "\", \"offset\": " + record.offset();
                        tell("read", "consumer", CONSUMER, record.partition(), more);
                        next[record.partition()] = record.offset() + 1;
                    }
                } catch (OffsetOutOfRangeException error) {
                    for (TopicPartition place : error.partitions()) {
                        tell("astray", "consumer", CONSUMER, place.partition(), ", \"error\": \"" + plain(error) + "\"");
                        consumer.seek(place, next[place.partition()]);
                    }
                }
            }
        } catch (Exception error) {
            error.printStackTrace();
            Runtime.getRuntime().halt(3);
        }
        System.out.println("{\"event\": \"finished\", \"consumer\": \"" + CONSUMER + "\"}");
    }

    private static boolean isDone(long[] next) {
        if (ends == null) {
            return false;
        }
        for (int partition = 0; partition < ends.length; partition++) {
            if (next[partition] < ends[partition]) {
                return false;
            }
        }
        return true;
    }

    private static void tell(String event, String role, String name, int partition, String more) {
        System.out.println(
                "{\"event\": \"" + event + "\", \"" + role + "\": \"" + name + "\", \"partition\": " + partition + more + "}");
    }

    private static String plain(Exception error) {
        return error.toString().replaceAll("[\"\\\\\\p{Cntrl}]", "'");
    }
}
