import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * A consumer in a group, on a thread of its own that polls until it is closed.
 *
 * It remembers what it was given and what was taken from it, and all that it read. Whatever else is wanted of its
 * consumer is asked, and done between two polls.
 */
final class GroupMember implements AutoCloseable, ConsumerRebalanceListener {
    /** Something to do with the consumer. */
    interface Work<T> {
        T on(Consumer<String, String> consumer) throws Exception;
    }

    private final Consumer<String, String> consumer;
    private final BlockingQueue<FutureTask<?>> asked = new LinkedBlockingQueue<>();
    private final CountDownLatch thawed = new CountDownLatch(1);
    private final List<String> events = new ArrayList<>();
    private final List<ConsumerRecord<String, String>> records = new ArrayList<>();
    private final Thread thread;
    private volatile Set<TopicPartition> assignment = Set.of();
    private volatile boolean ends;
    private volatile Throwable failure;

    private GroupMember(Consumer<String, String> consumer) {
        this.consumer = consumer;
        this.thread = new Thread(this::live, "member");
        thread.setDaemon(true);
    }

    /** How a member subscribes; it is the listener too. */
    interface Subscribing {
        void on(Consumer<String, String> consumer, ConsumerRebalanceListener listener);
    }

    static GroupMember subscribing(World world, String group, String name, Subscribing how, Object... settings) {
        List<Object> all = new ArrayList<>(List.of("group.id", world.prefix + group, "client.id", name));
        if (!Arrays.asList(settings).contains("consumer")) {
            all.addAll(List.of("heartbeat.interval.ms", 300)); // the broker's, in the consumer protocol
        }
        all.addAll(Arrays.asList(settings));
        GroupMember member = new GroupMember(world.consumer(all.toArray()));
        how.on(member.consumer, member);
        member.thread.start();
        return member;
    }

    static GroupMember of(World world, String group, String name, Collection<String> topics, Object... settings) {
        return subscribing(world, group, name, (consumer, listener) -> consumer.subscribe(topics, listener), settings);
    }

    private void live() {
        try {
            while (!ends) {
                for (FutureTask<?> task = asked.poll(); task != null; task = asked.poll()) {
                    task.run();
                }
                if (!ends) {
                    keep(consumer.poll(Duration.ofMillis(50)));
                }
                assignment = Set.copyOf(consumer.assignment());
            }
        } catch (Throwable error) {
            failure = error;
        } finally {
            consumer.close();
            assignment = Set.of();
        }
    }

    private synchronized void keep(Iterable<ConsumerRecord<String, String>> polled) {
        polled.forEach(records::add);
    }

    <T> FutureTask<T> later(Work<T> work) {
        FutureTask<T> task = new FutureTask<>(() -> work.on(consumer));
        asked.add(task);
        return task;
    }

    /** Have it done between two polls, and wait for what comes of it. */
    <T> T ask(Work<T> work) throws Exception {
        return later(work).get(World.SECONDS_MAX, TimeUnit.SECONDS);
    }

    /** Stop polling, but not living. What is asked meanwhile is done when it thaws. */
    void freeze() {
        later(consumer -> thawed.await(World.SECONDS_MAX, TimeUnit.SECONDS));
    }

    void thaw() {
        thawed.countDown();
    }

    /** Leave the group as `Consumer.close` does, or however it is told. */
    void closeBy(Work<?> closing) throws Exception {
        ask(consumer -> {
            ends = true;
            return closing.on(consumer);
        });
        thread.join(TimeUnit.SECONDS.toMillis(World.SECONDS_MAX));
    }

    @Override
    public void close() throws InterruptedException {
        ends = true;
        thaw();
        thread.join(TimeUnit.SECONDS.toMillis(World.SECONDS_MAX));
    }

    // What became of it

    Set<TopicPartition> assignment() {
        return assignment;
    }

    /** What it has, in order. */
    List<String> told() {
        return sorted(assignment);
    }

    /** The kind of error that ended it. */
    String failure() {
        World.eventually(() -> failure != null);
        return failure == null ? "none" : World.errorOf(failure);
    }

    synchronized List<String> events() {
        return List.copyOf(events);
    }

    /** How many partitions it was given and lost in all, however many steps that took. */
    synchronized Map<String, Integer> counts() {
        Map<String, Integer> counts = new TreeMap<>();
        for (String event : events) {
            int count = event.substring(event.indexOf('[')).split(",").length;
            counts.merge(event.substring(0, event.indexOf(' ')), count, Integer::sum);
        }
        return counts;
    }

    /** Wait for as many records as there must be, and tell their values, partition by partition. */
    List<String> values(int count) {
        World.eventually(() -> recordCount() >= count);
        synchronized (this) {
            Set<String> sorted = new TreeSet<>();
            records.forEach(record -> sorted.add(record.topic() + "-" + record.partition() + "@" + record.offset() + " " + record.value()));
            return List.copyOf(sorted);
        }
    }

    private synchronized int recordCount() {
        return records.size();
    }

    /** Wait until each of the members, with nobody else, has as many partitions as it says beside it. */
    static void settle(Object... membersAndCounts) {
        World.eventually(() -> {
            Set<TopicPartition> all = new HashSet<>();
            int sum = 0;
            for (int index = 0; index < membersAndCounts.length; index += 2) {
                Set<TopicPartition> found = ((GroupMember) membersAndCounts[index]).assignment();
                if (found.size() != (Integer) membersAndCounts[index + 1]) {
                    return false;
                }
                sum += found.size();
                all.addAll(found);
            }
            return all.size() == sum;
        });
    }

    /** Wait until these members have all partitions between them, none twice and nobody without. */
    static void settleAnyhow(int partitions, GroupMember... members) {
        World.eventually(() -> {
            Set<TopicPartition> all = new HashSet<>();
            int sum = 0;
            for (GroupMember member : members) {
                Set<TopicPartition> found = member.assignment();
                if (found.isEmpty()) {
                    return false;
                }
                sum += found.size();
                all.addAll(found);
            }
            return all.size() == partitions && sum == partitions;
        });
    }

    // What its consumer tells it

    @Override
    public synchronized void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        note("assigned", partitions);
    }

    @Override
    public synchronized void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        note("revoked", partitions);
    }

    @Override
    public synchronized void onPartitionsLost(Collection<TopicPartition> partitions) {
        note("lost", partitions);
    }

    /** A rebalance that changes nothing says so with an empty list, as often as it likes. */
    private void note(String what, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            events.add(what + " " + sorted(partitions));
        }
    }

    static List<String> sorted(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().toList();
    }
}
