import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What a scenario is given: a broker's addresses, clients, topics of its own, and a place for what it learns.
 *
 * What is said must be the same on every run and on every broker: no ids, no clocks, no ports, no sizes of files.
 */
final class World implements AutoCloseable {
    static final long SECONDS_MAX = 60;
    static final long FIRST_TIMESTAMP = 1_700_000_000_000L;

    /** What may fail, and often should. */
    interface Attempt {
        Object run() throws Exception;
    }

    final String bootstrap;
    final String controllers;
    final String prefix;
    final Admin admin;
    private final Restarts restarts;
    private List<String> answers = new ArrayList<>();

    /** Somebody who can stop the broker and start it again. */
    interface Restarts {
        void restart() throws Exception;
    }

    World(String bootstrap, String controllers, String prefix, Restarts restarts) {
        this.bootstrap = bootstrap;
        this.controllers = controllers;
        this.prefix = prefix;
        this.restarts = restarts;
        this.admin = admin(Map.of("bootstrap.servers", bootstrap));
    }

    private World(World other) {
        this.bootstrap = other.bootstrap;
        this.controllers = other.controllers;
        this.prefix = other.prefix;
        this.restarts = other.restarts;
        this.admin = other.admin;
    }

    /** The same for a scenario that runs beside others; whoever made the first closes it. */
    World beside() {
        return new World(this);
    }

    Admin admin(Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>(settings);
        all.putIfAbsent("default.api.timeout.ms", 60_000);
        return Admin.create(all);
    }

    List<String> takeAnswers() {
        List<String> taken = answers;
        answers = new ArrayList<>();
        return taken;
    }

    void say(String what, Object answer) {
        answers.add(what + ": " + answer);
    }

    /** Say what came of it, be it a result or an error. */
    void attempt(String what, Attempt attempt) {
        try {
            say(what, attempt.run());
        } catch (Exception error) {
            say(what, errorOf(error));
        }
    }

    /** The kind of error. Its words are each broker's own. */
    static String errorOf(Throwable error) {
        Throwable cause = error instanceof ExecutionException ? error.getCause() : error;
        return cause.getClass().getSimpleName();
    }

    static <T> T got(KafkaFuture<T> future) throws Exception {
        return future.get(SECONDS_MAX, TimeUnit.SECONDS);
    }

    /** Each key with its result or its error, in order. */
    <K, V> void sayEach(String what, Map<K, KafkaFuture<V>> futures) {
        Map<String, KafkaFuture<V>> sorted = new TreeMap<>();
        futures.forEach((key, future) -> sorted.put(String.valueOf(key), future));
        sorted.forEach((key, future) -> attempt(what + " " + key, () -> got(future)));
    }

    /** A topic of this run, made with `key=value` configs. */
    String topic(String name, int partitions, String... configs) throws Exception {
        String topic = prefix + name;
        Map<String, String> config = new HashMap<>();
        for (String pair : configs) {
            config.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        got(admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(config))).all());
        // Kafka answers when the controller knows the topic; its broker may learn of it later, and lead it later still.
        until(() -> got(admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size() == partitions);
        Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
        Reading.partitions(topic, partitions).forEach(partition -> ends.put(partition, OffsetSpec.latest()));
        got(admin.listOffsets(ends).all());
        return topic;
    }

    /** Something that comes true by itself. */
    interface Condition {
        boolean holds() throws Exception;
    }

    /** Wait until it holds; an error means that it does not yet. If it never does, whoever asks next will see. */
    static void until(Condition condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
        while (System.nanoTime() < deadline) {
            try {
                if (condition.holds()) {
                    return;
                }
            } catch (Exception error) {
                // Not yet.
            }
            Thread.sleep(10);
        }
    }

    /** The same where nobody can be interrupted. */
    static void eventually(Condition condition) {
        try {
            until(condition);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    Producer<String, String> producer(Object... settings) {
        Properties properties = properties(settings);
        properties.putIfAbsent("delivery.timeout.ms", 120_000);
        return new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer());
    }

    Consumer<String, String> consumer(Object... settings) {
        Properties properties = properties(settings);
        properties.putIfAbsent("auto.offset.reset", "earliest");
        properties.putIfAbsent("enable.auto.commit", false);
        return new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer());
    }

    private Properties properties(Object... settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        for (int index = 0; index < settings.length; index += 2) {
            properties.put(settings[index], settings[index + 1]);
        }
        return properties;
    }

    /** Records `value-0`, `value-1`, … a millisecond apart, in one partition. */
    void fill(String topic, int partition, int count) throws Exception {
        try (Producer<String, String> producer = producer("linger.ms", 5)) {
            for (int index = 0; index < count; index++) {
                producer.send(
                        new ProducerRecord<>(topic, partition, FIRST_TIMESTAMP + index, "key-" + index, "value-" + index));
            }
        }
    }

    void restartBroker() throws Exception {
        restarts.restart();
    }

    @Override
    public void close() {
        admin.close();
    }
}
