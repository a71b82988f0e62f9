import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;

/** Clients that live on while the world changes around them: the broker restarts, a topic is made anew. */
final class ChangeScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("broker_restarts", ChangeScenarios::brokerRestarts);
        ALL.put("topic_is_deleted_and_made_anew", ChangeScenarios::topicMadeAnew);
    }

    private static void brokerRestarts(World world) throws Exception {
        String topic = world.topic("restart", 2);
        Uuid id = idOf(world, topic);
        try (Consumer<String, String> consumer = world.consumer();
                Producer<String, String> producer = world.producer("linger.ms", 1)) {
            consumer.assign(Reading.partitions(topic, 2));
            send(producer, topic, "before", 40);
            producer.flush();
            List<String> values = new ArrayList<>(Reading.values(Reading.next(consumer, 40)));
            send(producer, topic, "between", 40); // some of these meet the stop
            world.restartBroker();
            send(producer, topic, "after", 40);
            producer.flush();
            values.addAll(Reading.values(Reading.next(consumer, 80)));
            world.say("values", values.stream().sorted().toList());
            world.say("ends", consumer.endOffsets(Reading.partitions(topic, 2)).values());
            world.say("no more", consumer.poll(Duration.ofMillis(100)).count());
        }
        world.say("in order", Reading.values(Reading.all(world, topic, 2, 120)));
        world.say("same id", idOf(world, topic).equals(id));
    }

    private static void send(Producer<String, String> producer, String topic, String what, int count) {
        for (int index = 0; index < count; index++) {
            producer.send(new ProducerRecord<>(topic, index % 2, "key", what + "-" + index));
        }
    }

    private static void topicMadeAnew(World world) throws Exception {
        String topic = world.topic("anew", 1);
        Uuid id = idOf(world, topic);
        try (Consumer<String, String> consumer = world.consumer("metadata.max.age.ms", 1000);
                Producer<String, String> producer = world.producer("metadata.max.age.ms", 1000)) {
            consumer.assign(Reading.partitions(topic, 1));
            send(producer, topic, 1, "old");
            world.say("old", Reading.values(Reading.next(consumer, 1)));
            World.got(world.admin.deleteTopics(List.of(topic)).all());
            World.until(() -> !World.got(world.admin.listTopics().names()).contains(topic));
            world.topic("anew", 1);
            world.say("same id", idOf(world, topic).equals(id));
            send(producer, topic, 3, "new");
            consumer.seekToBeginning(Reading.partitions(topic, 1));
            world.say("new", Reading.values(Reading.next(consumer, 3)));
        }
        world.say("only new", Reading.values(Reading.all(world, topic, 1, 3)));
    }

    private static void send(Producer<String, String> producer, String topic, int count, String what) throws Exception {
        for (int index = 0; index < count; index++) {
            producer.send(new ProducerRecord<>(topic, 0, "key", what + "-" + index)).get(World.SECONDS_MAX, TimeUnit.SECONDS);
        }
    }

    private static Uuid idOf(World world, String topic) throws Exception {
        return World.got(world.admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).topicId();
    }
}
