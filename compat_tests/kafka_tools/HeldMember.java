import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a group that stays while tools look at it: it reads its topic to the end, commits, and goes on polling.
 *
 * `HeldMember BOOTSTRAP start GROUP PROTOCOL TOPIC` returns when its group is stable; `HeldMember BOOTSTRAP stop GROUP`
 * when it has left.
 */
public final class HeldMember {
    private static final long SECONDS_MAX = 60;
    private static final Map<String, HeldMember> HELD = new HashMap<>();

    private final CountDownLatch committed = new CountDownLatch(1);
    private volatile boolean ends;
    private Thread thread;

    public static void main(String[] words) throws Exception {
        String name = words[0] + " " + words[2];
        if (words[1].equals("stop")) {
            HeldMember member = HELD.remove(name);
            member.ends = true;
            member.thread.join(TimeUnit.SECONDS.toMillis(SECONDS_MAX));
            return;
        }
        HeldMember member = new HeldMember();
        member.thread = new Thread(() -> member.live(words[0], words[2], words[3], words[4]), "held");
        member.thread.setDaemon(true);
        member.thread.start();
        HELD.put(name, member);
        if (!member.committed.await(SECONDS_MAX, TimeUnit.SECONDS)) {
            throw new IllegalStateException("it has not read its topic");
        }
        settle(words[0], words[2]);
    }

    private void live(String bootstrap, String group, String protocol, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.protocol", protocol);
        settings.put("group.id", group);
        settings.put("client.id", "held");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (!ends) {
                consumer.poll(Duration.ofMillis(50));
                if (committed.getCount() > 0 && isAtTheEnd(consumer)) {
                    consumer.commitSync();
                    committed.countDown();
                }
            }
        }
    }

    private static boolean isAtTheEnd(KafkaConsumer<String, String> consumer) {
        Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
        return !ends.isEmpty() && ends.entrySet().stream().allMatch(end -> consumer.position(end.getKey()) == end.getValue());
    }

    private static void settle(String bootstrap, String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS_MAX);
            while (admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState() != GroupState.STABLE) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("the group is not stable");
                }
                Thread.sleep(10);
            }
        }
    }
}
