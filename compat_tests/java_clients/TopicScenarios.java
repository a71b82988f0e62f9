import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DeleteRecordsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** Topics as administrators make, see, grow, cut and delete them. */
final class TopicScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("create_topics", TopicScenarios::create);
        ALL.put("refused_topics", TopicScenarios::refused);
        ALL.put("describe_and_list_topics", TopicScenarios::describe);
        ALL.put("delete_topics", TopicScenarios::delete);
        ALL.put("create_partitions", TopicScenarios::grow);
        ALL.put("delete_records", TopicScenarios::deleteRecords);
        ALL.put("list_offsets", TopicScenarios::listOffsets);
        ALL.put("elect_leaders", TopicScenarios::electLeaders);
    }

    private static final Uuid NO_SUCH_ID = new Uuid(7, 7);

    private static void create(World world) throws Exception {
        List<NewTopic> topics = List.of(
                new NewTopic(world.prefix + "plain", 3, (short) 1),
                new NewTopic(world.prefix + "default", Optional.empty(), Optional.empty()),
                new NewTopic(world.prefix + "placed", Map.of(0, List.of(1), 1, List.of(1))),
                new NewTopic(world.prefix + "configured", 1, (short) 1)
                        .configs(Map.of("retention.ms", "1000", "cleanup.policy", "compact,delete")));
        for (boolean validateOnly : new boolean[] {true, false}) {
            CreateTopicsResult result = world.admin.createTopics(topics, new CreateTopicsOptions().validateOnly(validateOnly));
            for (NewTopic topic : topics) {
                String name = topic.name();
                world.attempt(name, () -> World.got(result.numPartitions(name)) + " " + World.got(result.replicationFactor(name)));
                world.attempt(name + " config", () -> Configs.told(World.got(result.config(name))));
                world.attempt(name + " has an id", () -> !World.got(result.topicId(name)).equals(Uuid.ZERO_UUID));
            }
        }
        World.until(() -> World.got(world.admin.describeTopics(topics.stream().map(NewTopic::name).toList()).allTopicNames()).size() == 4);
        world.say("there", World.got(world.admin.listTopics().names()).stream()
                .filter(name -> topics.stream().anyMatch(topic -> topic.name().equals(name))).sorted().toList());
    }

    private static void refused(World world) throws Exception {
        world.topic("exists", 1);
        world.topic("with.dot", 1);
        Map<String, NewTopic> topics = new LinkedHashMap<>();
        topics.put("exists", new NewTopic(world.prefix + "exists", 1, (short) 1));
        topics.put("collides", new NewTopic(world.prefix + "with_dot", 1, (short) 1));
        topics.put("two replicas", new NewTopic(world.prefix + "two", 1, (short) 2));
        topics.put("no replicas", new NewTopic(world.prefix + "none", 1, (short) 0));
        topics.put("no partitions", new NewTopic(world.prefix + "empty", 0, (short) 1));
        topics.put("negative", new NewTopic(world.prefix + "negative", -5, (short) 1));
        topics.put("letters", new NewTopic("a b", 1, (short) 1));
        topics.put("no name", new NewTopic("", 1, (short) 1));
        topics.put("dots", new NewTopic("..", 1, (short) 1));
        topics.put("long", new NewTopic("x".repeat(250), 1, (short) 1));
        topics.put("nobody", new NewTopic(world.prefix + "nobody", Map.of(0, List.of(9))));
        topics.put("twice", new NewTopic(world.prefix + "twice", Map.of(0, List.of(1, 1))));
        topics.put("a gap", new NewTopic(world.prefix + "gap", Map.of(1, List.of(1))));
        topics.put("value", new NewTopic(world.prefix + "value", 1, (short) 1).configs(Map.of("retention.ms", "long")));
        topics.put("range", new NewTopic(world.prefix + "range", 1, (short) 1).configs(Map.of("max.message.bytes", "-1")));
        topics.put("word", new NewTopic(world.prefix + "word", 1, (short) 1).configs(Map.of("cleanup.policy", "burn")));
        topics.put("key", new NewTopic(world.prefix + "key", 1, (short) 1).configs(Map.of("no.such.key", "1")));
        for (var entry : topics.entrySet()) {
            world.attempt(entry.getKey(), () -> World.got(world.admin.createTopics(List.of(entry.getValue())).all()));
        }
    }

    private static void describe(World world) throws Exception {
        String topic = world.topic("described", 3);
        String nowhere = world.prefix + "nowhere";
        DescribeTopicsOptions options = new DescribeTopicsOptions().includeAuthorizedOperations(true);
        var byName = world.admin.describeTopics(TopicCollection.ofTopicNames(List.of(topic, nowhere, "a b")), options).topicNameValues();
        Map<String, KafkaFuture<String>> told = new TreeMap<>();
        byName.forEach((name, future) -> told.put(name, future.thenApply(TopicScenarios::told)));
        world.sayEach("by name", told);
        Uuid id = World.got(byName.get(topic)).topicId();
        var byId = world.admin.describeTopics(TopicCollection.ofTopicIds(List.of(id, NO_SUCH_ID))).topicIdValues();
        world.attempt("by id", () -> told(World.got(byId.get(id))));
        world.attempt("by no id", () -> told(World.got(byId.get(NO_SUCH_ID))));
        for (int limit : new int[] {1, 2, 2000}) {
            var pages = world.admin.describeTopics(List.of(topic), new DescribeTopicsOptions().partitionSizeLimitPerResponse(limit));
            world.attempt("in pages of " + limit, () -> told(World.got(pages.topicNameValues().get(topic))));
        }
        var listed = World.got(world.admin.listTopics(new ListTopicsOptions().listInternal(true)).namesToListings()).get(topic);
        world.say("listed", listed.name() + " " + listed.isInternal() + " " + listed.topicId().equals(id));
    }

    private static String told(TopicDescription topic) {
        var operations = topic.authorizedOperations();
        return Reading.withoutPorts(topic.name() + " " + topic.isInternal() + " " + topic.partitions()
                + " " + (operations == null ? null : new TreeSet<>(operations)));
    }

    private static void delete(World world) throws Exception {
        String byName = world.topic("deleted-by-name", 1);
        String byId = world.topic("deleted-by-id", 1);
        Uuid id = World.got(world.admin.describeTopics(List.of(byId)).topicNameValues().get(byId)).topicId();
        String nowhere = world.prefix + "nowhere";
        world.sayEach("by name", world.admin.deleteTopics(TopicCollection.ofTopicNames(List.of(byName, nowhere, "a b"))).topicNameValues());
        var ids = world.admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id, NO_SUCH_ID))).topicIdValues();
        world.attempt("by id", () -> World.got(ids.get(id)));
        world.attempt("by no id", () -> World.got(ids.get(NO_SUCH_ID)));
        world.attempt("again", () -> World.got(world.admin.deleteTopics(List.of(byName)).all()));
        World.until(() -> World.got(world.admin.listTopics().names()).stream().noneMatch(name -> name.contains("deleted-by")));
        world.say("left", World.got(world.admin.listTopics().names()).stream().filter(name -> name.contains("deleted-by")).toList());
    }

    private static void grow(World world) throws Exception {
        String topic = world.topic("grown", 1);
        Map<String, NewPartitions> asked = new LinkedHashMap<>();
        asked.put("to three", NewPartitions.increaseTo(3));
        asked.put("to three again", NewPartitions.increaseTo(3));
        asked.put("to two", NewPartitions.increaseTo(2));
        asked.put("to none", NewPartitions.increaseTo(0));
        asked.put("placed", NewPartitions.increaseTo(4, List.of(List.of(1))));
        asked.put("placed nowhere", NewPartitions.increaseTo(5, List.of(List.of(9))));
        asked.put("placed too few", NewPartitions.increaseTo(9, List.of(List.of(1))));
        asked.put("placed twice", NewPartitions.increaseTo(5, List.of(List.of(1, 1))));
        CreatePartitionsOptions check = new CreatePartitionsOptions().validateOnly(true);
        for (var entry : asked.entrySet()) {
            world.attempt(entry.getKey() + ", checked", () -> World.got(world.admin.createPartitions(Map.of(topic, entry.getValue()), check).all()));
            world.attempt(entry.getKey(), () -> World.got(world.admin.createPartitions(Map.of(topic, entry.getValue())).all()));
        }
        world.attempt("unknown", () -> World.got(world.admin.createPartitions(Map.of("nowhere", NewPartitions.increaseTo(3))).all()));
        World.until(() -> World.got(world.admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size() == 4);
        world.say("partitions", World.got(world.admin.describeTopics(List.of(topic)).allTopicNames()).get(topic).partitions().size());
        world.fill(topic, 3, 5);
        world.say("usable", Reading.values(Reading.all(world, topic, 4, 5)));
    }

    private static void deleteRecords(World world) throws Exception {
        String topic = world.topic("cut", 1);
        world.fill(topic, 0, 20);
        TopicPartition partition = new TopicPartition(topic, 0);
        for (long offset : new long[] {5, 5, 3, 21, -2, -1, 20}) {
            world.attempt("before " + offset, () -> World.got(
                    world.admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(offset))).lowWatermarks().get(partition)).lowWatermark());
        }
        TopicPartition unknown = new TopicPartition(topic, 4);
        world.attempt("unknown", () -> World.got(world.admin.deleteRecords(
                Map.of(unknown, RecordsToDelete.beforeOffset(1)), new DeleteRecordsOptions().timeoutMs(500)).all()));
        String compacted = world.topic("cut-compacted", 1, "cleanup.policy=compact");
        world.attempt("compacted", () -> World.got(
                world.admin.deleteRecords(Map.of(new TopicPartition(compacted, 0), RecordsToDelete.beforeOffset(0))).all()));
        world.fill(topic, 0, 2);
        world.say("then", Reading.all(world, topic, 1, 2).stream().map(Reading::told).toList());
    }

    private static void listOffsets(World world) throws Exception {
        String topic = world.topic("offsets", 2);
        try (Producer<String, String> producer = world.producer()) {
            for (long timestamp : new long[] {50, 10, 90, 90, 20}) {
                producer.send(new ProducerRecord<>(topic, 0, World.FIRST_TIMESTAMP + timestamp, "key", "value")).get();
            }
        }
        Map<String, OffsetSpec> specs = new LinkedHashMap<>();
        specs.put("earliest", OffsetSpec.earliest());
        specs.put("latest", OffsetSpec.latest());
        specs.put("max timestamp", OffsetSpec.maxTimestamp());
        specs.put("earliest local", OffsetSpec.earliestLocal());
        specs.put("latest tiered", OffsetSpec.latestTiered());
        for (long timestamp : new long[] {0, World.FIRST_TIMESTAMP + 15, World.FIRST_TIMESTAMP + 90, World.FIRST_TIMESTAMP + 91}) {
            specs.put("at " + timestamp, OffsetSpec.forTimestamp(timestamp));
        }
        for (IsolationLevel level : IsolationLevel.values()) {
            for (var entry : specs.entrySet()) {
                for (int partition : new int[] {0, 1}) {
                    world.attempt(level + " " + entry.getKey() + " " + partition,
                            () -> offset(world, new TopicPartition(topic, partition), entry.getValue(), level));
                }
            }
        }
        TopicPartition unknown = new TopicPartition(topic, 5);
        ListOffsetsOptions soon = new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED);
        soon.timeoutMs(500);
        try {
            World.got(world.admin.listOffsets(Map.of(unknown, OffsetSpec.latest()), soon).all());
        } catch (java.util.concurrent.ExecutionException error) {
            world.say("unknown", error.getCause().getClass().getSimpleName());
        }
    }

    static String offset(World world, TopicPartition partition, OffsetSpec spec, IsolationLevel level) throws Exception {
        return World.got(world.admin.listOffsets(Map.of(partition, spec), new ListOffsetsOptions(level)).all()).get(partition).toString();
    }

    private static void electLeaders(World world) throws Exception {
        String topic = world.topic("elected", 2);
        TopicPartition known = new TopicPartition(topic, 0);
        TopicPartition unknown = new TopicPartition(topic, 7);
        for (ElectionType type : ElectionType.values()) {
            var elected = World.got(world.admin.electLeaders(type, Set.of(known, unknown)).partitions());
            for (TopicPartition partition : List.of(known, unknown)) {
                world.say(type + " " + partition, elected.get(partition).map(World::errorOf).orElse("elected"));
            }
            world.attempt(type + " everywhere", () -> World.got(world.admin.electLeaders(type, null).partitions()));
        }
    }
}
