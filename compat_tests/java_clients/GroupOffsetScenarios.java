import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** What members commit, where others go on from there, and how far behind they are. */
final class GroupOffsetScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("commit_and_resume", world -> commitAndResume(world, "classic"));
        ALL.put("commits_of_all_kinds", world -> commits(world, "classic"));
        ALL.put("commits_that_cannot_be", world -> wrongCommits(world, "classic"));
        ALL.put("automatic_commits", world -> automatic(world, "classic"));
        ALL.put("seek_in_a_group", world -> seek(world, "classic"));
        ALL.put("lag", world -> lag(world, "classic"));
        ALL.put("nothing_committed", world -> nothingCommitted(world, "classic"));
    }

    /** A consumer that has what it subscribed to; it is polled here, by nobody else. */
    private static Consumer<String, String> joined(World world, String protocol, String group, String topic, int partitions, Object... more) {
        Object[] settings = new Object[more.length + 4];
        System.arraycopy(more, 0, settings, 4, more.length);
        settings[0] = "group.protocol";
        settings[1] = protocol;
        settings[2] = "group.id";
        settings[3] = world.prefix + group;
        Consumer<String, String> consumer = world.consumer(settings);
        consumer.subscribe(List.of(topic));
        World.eventually(() -> {
            consumer.poll(Duration.ZERO);
            return consumer.assignment().size() == partitions;
        });
        return consumer;
    }

    static void commitAndResume(World world, String protocol) throws Exception {
        String topic = world.topic("resume-" + protocol, 2);
        world.fill(topic, 0, 20);
        world.fill(topic, 1, 20);
        for (int round = 0; round < 3; round++) {
            try (Consumer<String, String> consumer = world.consumer(
                    "group.protocol", protocol, "group.id", world.prefix + "resume-" + protocol, "max.poll.records", 5)) {
                consumer.subscribe(List.of(topic));
                world.say("count " + round, Reading.next(consumer, 10).size());
                consumer.commitSync();
            }
        }
        List<TopicPartition> partitions = Reading.partitions(topic, 2);
        try (Consumer<String, String> consumer = joined(world, protocol, "resume-" + protocol, topic, 2)) {
            Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(Set.copyOf(partitions));
            world.say("committed in all", committed.values().stream().mapToLong(OffsetAndMetadata::offset).sum());
            world.say("the rest", Reading.next(consumer, 10).size());
        }
    }

    static void commits(World world, String protocol) throws Exception {
        String topic = world.topic("commits-" + protocol, 2);
        List<TopicPartition> partitions = Reading.partitions(topic, 2);
        try (Consumer<String, String> consumer = joined(world, protocol, "commits-" + protocol, topic, 2)) {
            world.say("nothing", told(consumer.committed(Set.copyOf(partitions))));
            consumer.commitSync(Map.of(partitions.get(0), new OffsetAndMetadata(3, Optional.of(0), "some words: ü")));
            world.say("sync", told(consumer.committed(Set.copyOf(partitions))));
            CompletableFuture<String> called = new CompletableFuture<>();
            consumer.commitAsync(Map.of(partitions.get(1), new OffsetAndMetadata(4)), (offsets, error) ->
                    called.complete(told(offsets) + " " + error));
            World.until(() -> {
                consumer.poll(Duration.ofMillis(10));
                return called.isDone();
            });
            world.say("async", called.get(World.SECONDS_MAX, TimeUnit.SECONDS));
            world.say("both", told(consumer.committed(Set.copyOf(partitions))));
            consumer.commitSync(Map.of(partitions.get(0), new OffsetAndMetadata(1, "back"), partitions.get(1), new OffsetAndMetadata(0)));
            world.say("back", told(consumer.committed(Set.copyOf(partitions))));
            world.say("of a stranger", told(consumer.committed(Set.of(new TopicPartition(topic, 7)))));
            world.say("of who commits", consumer.groupMetadata().groupId() + " " + consumer.groupMetadata().groupInstanceId());
        }
    }

    private static String told(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, String> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) -> sorted.put(partition.toString(), String.valueOf(offset)));
        return sorted.toString();
    }

    static void wrongCommits(World world, String protocol) throws Exception {
        String topic = world.topic("wrong-" + protocol, 1);
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Consumer<String, String> consumer = joined(world, protocol, "wrong-" + protocol, topic, 1)) {
            world.attempt("too many words", () -> commit(consumer, partition, new OffsetAndMetadata(1, "x".repeat(5000))));
            // What does not exist may come to exist: consumers try again for as long as they are given.
            TopicPartition later = new TopicPartition(topic, 9);
            world.attempt("no such partition", () -> commit(consumer, later, new OffsetAndMetadata(1), 2));
            TopicPartition nowhere = new TopicPartition(world.prefix + "nowhere", 0);
            world.attempt("no such topic", () -> commit(consumer, nowhere, new OffsetAndMetadata(1), 2));
            world.attempt("beyond the end", () -> commit(consumer, partition, new OffsetAndMetadata(1_000_000)));
            world.attempt("of no epoch yet", () -> commit(consumer, partition, new OffsetAndMetadata(1, Optional.of(77), "")));
            world.say("at last", told(consumer.committed(Set.of(partition))));
        }
    }

    private static String commit(Consumer<String, String> consumer, TopicPartition partition, OffsetAndMetadata offset) {
        return commit(consumer, partition, offset, World.SECONDS_MAX);
    }

    private static String commit(
            Consumer<String, String> consumer, TopicPartition partition, OffsetAndMetadata offset, long seconds) {
        consumer.commitSync(Map.of(partition, offset), Duration.ofSeconds(seconds));
        return "done";
    }

    static void automatic(World world, String protocol) throws Exception {
        String topic = world.topic("automatic-" + protocol, 1);
        world.fill(topic, 0, 20);
        TopicPartition partition = new TopicPartition(topic, 0);
        Object[] settings = {"group.protocol", protocol, "group.id", world.prefix + "automatic-" + protocol,
            "enable.auto.commit", true, "auto.commit.interval.ms", 100};
        try (Consumer<String, String> consumer = world.consumer(settings)) {
            consumer.subscribe(List.of(topic));
            world.say("read", Reading.next(consumer, 20).size());
            World.until(() -> {
                consumer.poll(Duration.ofMillis(50));
                OffsetAndMetadata committed = consumer.committed(Set.of(partition)).get(partition);
                return committed != null && committed.offset() == 20;
            });
            world.say("while it polls", told(consumer.committed(Set.of(partition))));
            world.fill(topic, 0, 5);
            world.say("read", Reading.next(consumer, 5).size());
        }
        try (Consumer<String, String> consumer = world.consumer(settings)) {
            world.say("when it closes", told(consumer.committed(Set.of(partition))));
        }
    }

    static void seek(World world, String protocol) throws Exception {
        String topic = world.topic("group-seek-" + protocol, 2);
        world.fill(topic, 0, 20);
        world.fill(topic, 1, 10);
        TopicPartition first = new TopicPartition(topic, 0);
        TopicPartition second = new TopicPartition(topic, 1);
        try (Consumer<String, String> consumer = joined(world, protocol, "group-seek-" + protocol, topic, 2)) {
            consumer.seek(first, 15);
            consumer.seekToEnd(List.of(second));
            world.say("from 15", Reading.values(Reading.next(consumer, 5)));
            consumer.commitSync();
            consumer.seek(first, new OffsetAndMetadata(18, Optional.of(0), ""));
            consumer.seekToBeginning(List.of(second));
            consumer.pause(List.of(second));
            world.say("from 18", Reading.values(Reading.next(consumer, 2)));
            consumer.resume(List.of(second));
            world.say("from the beginning", Reading.values(Reading.next(consumer, 10)));
            world.say("committed", told(consumer.committed(Set.of(first, second))));
            world.attempt("of who is not here", () -> {
                consumer.seek(new TopicPartition(topic, 7), 1);
                return "done";
            });
        }
    }

    static void lag(World world, String protocol) throws Exception {
        String topic = world.topic("lag-" + protocol, 1);
        world.fill(topic, 0, 30);
        TopicPartition partition = new TopicPartition(topic, 0);
        String group = "lag-" + protocol;
        try (Consumer<String, String> consumer = joined(world, protocol, group, topic, 1, "max.poll.records", 10)) {
            consumer.seek(partition, 0); // joining may have read some
            world.say("read", Reading.next(consumer, 10).size());
            consumer.commitSync();
            world.say("of its position", consumer.currentLag(partition));
            long committed = World.got(world.admin.listConsumerGroupOffsets(world.prefix + group).partitionsToOffsetAndMetadata())
                    .get(partition).offset();
            long end = World.got(world.admin.listOffsets(Reading.latest(topic)).all()).get(partition).offset();
            world.say("of what is committed", end - committed);
            world.say("the rest", Reading.next(consumer, 20).size());
            world.say("none", consumer.currentLag(partition));
        }
    }

    static void nothingCommitted(World world, String protocol) throws Exception {
        String topic = world.topic("nothing-" + protocol, 1);
        world.fill(topic, 0, 10);
        for (String reset : List.of("earliest", "latest", "none")) {
            String group = "nothing-" + protocol + "-" + reset;
            world.attempt("by " + reset, () -> {
                Consumer<String, String> consumer = world.consumer("group.protocol", protocol,
                        "group.id", world.prefix + group, "auto.offset.reset", reset);
                try (consumer) {
                    consumer.subscribe(List.of(topic), new PausingListener(consumer));
                    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(World.SECONDS_MAX);
                    while (consumer.assignment().isEmpty() && System.nanoTime() < deadline) {
                        consumer.poll(Duration.ofMillis(50));
                    }
                    return consumer.position(new TopicPartition(topic, 0));
                }
            });
        }
    }

    /** Stops at what it is assigned, so that nothing is read before somebody looks. */
    private record PausingListener(Consumer<String, String> consumer) implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            consumer.pause(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    }
}
