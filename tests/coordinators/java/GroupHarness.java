import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.MemberSubscription;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.MemberState;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder;

/**
 * Kafka's own assignors, reconciliation, hashes and expressions at the other end of a pipe: a line of JSON in, a line of
 * JSON out after "> ". What Kafka throws is answered as {"error": class, "message": text}. Collections that Kafka goes
 * over are handed to it in the order of the question.
 */
public class GroupHarness {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Object answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (Throwable thrown) {
                answer = Map.of("error", thrown.getClass().getSimpleName(), "message", String.valueOf(thrown.getMessage()));
            }
            System.out.println("> " + JSON.writeValueAsString(answer));
        }
    }

    private static Object answer(JsonNode question) {
        switch (question.get("ask").asText()) {
            case "assign": return assign(question);
            case "reconcile": return reconcile(question);
            case "topic_hash": return topicHash(question);
            case "group_hash": return groupHash(question);
            case "matches": return matches(question);
            default: throw new IllegalArgumentException(question.toString());
        }
    }

    // Assignors

    private static Object assign(JsonNode question) {
        JsonNode members = question.get("members");
        Map<Uuid, Integer> counts = new HashMap<>();
        question.get("partition_counts").fields().forEachRemaining(
            entry -> counts.put(Uuid.fromString(entry.getKey()), entry.getValue().asInt()));
        Map<String, MemberSubscription> subscriptions = new LinkedHashMap<>();
        Map<String, MemberAssignment> assignments = new LinkedHashMap<>();
        Map<Uuid, Set<Integer>> assigned = new HashMap<>();
        members.fields().forEachRemaining(entry -> {
            JsonNode member = entry.getValue();
            Map<Uuid, Set<Integer>> old = partitions(member.get("assigned"));
            old.forEach((topic, numbers) -> assigned.computeIfAbsent(topic, __ -> new HashSet<>()).addAll(numbers));
            subscriptions.put(entry.getKey(), subscription(member));
            Map<Uuid, Set<Integer>> immutable = Collections.unmodifiableMap(old);
            assignments.put(entry.getKey(), () -> immutable);
        });
        SubscriptionType type = question.get("alike").asBoolean() ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        PartitionAssignor assignor = question.get("assignor").asText().equals("range") ? new RangeAssignor() : new UniformAssignor();
        Map<String, Object> found = new TreeMap<>();
        assignor.assign(spec(subscriptions, assignments, assigned, type), describer(counts)).members().forEach(
            (id, assignment) -> found.put(id, shown(assignment.partitions())));
        return found;
    }

    private static MemberSubscription subscription(JsonNode member) {
        Set<Uuid> topics = new LinkedHashSet<>();
        member.get("topics").forEach(topic -> topics.add(Uuid.fromString(topic.asText())));
        Optional<String> instance = Optional.ofNullable(member.get("instance_id").textValue());
        return new MemberSubscription() {
            @Override public Optional<String> rackId() {
                return Optional.empty();
            }

            @Override public Optional<String> instanceId() {
                return instance;
            }

            @Override public Set<Uuid> subscribedTopicIds() {
                return topics;
            }
        };
    }

    private static GroupSpec spec(
        Map<String, MemberSubscription> subscriptions,
        Map<String, MemberAssignment> assignments,
        Map<Uuid, Set<Integer>> assigned,
        SubscriptionType type
    ) {
        return new GroupSpec() {
            @Override public Collection<String> memberIds() {
                return subscriptions.keySet();
            }

            @Override public SubscriptionType subscriptionType() {
                return type;
            }

            @Override public boolean isPartitionAssigned(Uuid topic, int partition) {
                return assigned.getOrDefault(topic, Set.of()).contains(partition);
            }

            @Override public boolean isPartitionAssignable(Uuid topic, int partition) {
                return true;
            }

            @Override public MemberSubscription memberSubscription(String memberId) {
                return subscriptions.get(memberId);
            }

            @Override public MemberAssignment memberAssignment(String memberId) {
                return assignments.get(memberId);
            }
        };
    }

    private static SubscribedTopicDescriber describer(Map<Uuid, Integer> counts) {
        return new SubscribedTopicDescriber() {
            @Override public int numPartitions(Uuid topic) {
                return counts.getOrDefault(topic, -1);
            }

            @Override public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }

    // One step of a member

    private static Object reconcile(JsonNode question) {
        JsonNode told = question.get("member");
        List<String> names = new ArrayList<>();
        question.get("subscribed").forEach(name -> names.add(name.asText()));
        ConsumerGroupMember member = new ConsumerGroupMember.Builder("member")
            .setMemberEpoch(told.get("epoch").asInt())
            .setPreviousMemberEpoch(told.get("previous_epoch").asInt())
            .setState(MemberState.fromValue((byte) told.get("state").asInt()))
            .setSubscribedTopicNames(names)
            .setAssignedPartitions(withEpochs(told.get("assigned")))
            .setPartitionsPendingRevocation(withEpochs(told.get("pending_revocation")))
            .build();
        Set<String> held = new HashSet<>();
        question.get("held").forEach(partition -> held.add(partition.asText()));
        List<ConsumerGroupHeartbeatRequestData.TopicPartitions> owned = null;
        if (!question.get("owned").isNull()) {
            owned = new ArrayList<>();
            for (Map.Entry<Uuid, Set<Integer>> entry : partitions(question.get("owned")).entrySet()) {
                owned.add(new ConsumerGroupHeartbeatRequestData.TopicPartitions()
                    .setTopicId(entry.getKey()).setPartitions(new ArrayList<>(entry.getValue())));
            }
        }
        ConsumerGroupMember after = new CurrentAssignmentBuilder(member)
            .withMetadataImage(image(question.get("topics")))
            .withTargetAssignment(question.get("target_epoch").asInt(), new Assignment(partitions(question.get("target"))))
            .withHasSubscriptionChanged(question.get("subscription_changed").asBoolean())
            .withCurrentPartitionEpoch((topic, partition) -> held.contains(topic + "-" + partition) ? 7 : -1)
            .withOwnedTopicPartitions(owned)
            .build();
        Map<String, Object> found = new TreeMap<>();
        found.put("epoch", after.memberEpoch());
        found.put("previous_epoch", after.previousMemberEpoch());
        found.put("state", (int) after.state().value());
        found.put("assigned", shownWithEpochs(after.assignedPartitions()));
        found.put("pending_revocation", shownWithEpochs(after.partitionsPendingRevocation()));
        return found;
    }

    private static Map<Uuid, Map<Integer, Integer>> withEpochs(JsonNode told) {
        Map<Uuid, Map<Integer, Integer>> found = new HashMap<>();
        told.fields().forEachRemaining(entry -> {
            Map<Integer, Integer> numbers = new HashMap<>();
            entry.getValue().fields().forEachRemaining(
                one -> numbers.put(Integer.parseInt(one.getKey()), one.getValue().asInt()));
            found.put(Uuid.fromString(entry.getKey()), numbers);
        });
        return found;
    }

    private static Map<String, Object> shownWithEpochs(Map<Uuid, Map<Integer, Integer>> held) {
        Map<String, Object> found = new TreeMap<>();
        held.forEach((topic, numbers) -> found.put(topic.toString(), new TreeMap<>(numbers)));
        return found;
    }

    private static Map<Uuid, Set<Integer>> partitions(JsonNode told) {
        Map<Uuid, Set<Integer>> found = new LinkedHashMap<>();
        told.fields().forEachRemaining(entry -> {
            Set<Integer> numbers = new LinkedHashSet<>();
            entry.getValue().forEach(number -> numbers.add(number.asInt()));
            found.put(Uuid.fromString(entry.getKey()), numbers);
        });
        return found;
    }

    private static Map<String, Object> shown(Map<Uuid, Set<Integer>> partitions) {
        Map<String, Object> found = new TreeMap<>();
        partitions.forEach((topic, numbers) -> found.put(topic.toString(), new TreeSet<>(numbers)));
        return found;
    }

    // Hashes and expressions

    private static Object topicHash(JsonNode question) {
        return Map.of("hash", Utils.computeTopicHash(question.get("name").asText(), image(question.get("topics"))));
    }

    private static Object groupHash(JsonNode question) {
        Map<String, Long> hashes = new HashMap<>();
        question.get("hashes").fields().forEachRemaining(entry -> hashes.put(entry.getKey(), entry.getValue().asLong()));
        return Map.of("hash", Utils.computeGroupHash(hashes));
    }

    private static Object matches(JsonNode question) {
        List<String> found = new ArrayList<>();
        Pattern pattern;
        try {
            pattern = Pattern.compile(question.get("regex").asText());
        } catch (PatternSyntaxException invalid) {
            return Map.of("valid", false, "names", found);
        }
        question.get("names").forEach(name -> {
            if (pattern.matcher(name.asText()).matches()) found.add(name.asText());
        });
        return Map.of("valid", true, "names", found);
    }

    // Topics: {name: {"id": id, "racks": [[rack, ...] for each partition]}}

    private record Topic(String name, Uuid id, List<List<String>> racks) implements CoordinatorMetadataImage.TopicMetadata {
        @Override public int partitionCount() {
            return racks.size();
        }

        @Override public List<String> partitionRacks(int partition) {
            return new ArrayList<>(racks.get(partition));
        }
    }

    private static CoordinatorMetadataImage image(JsonNode told) {
        Map<String, CoordinatorMetadataImage.TopicMetadata> byName = new LinkedHashMap<>();
        Map<Uuid, CoordinatorMetadataImage.TopicMetadata> byId = new LinkedHashMap<>();
        told.fields().forEachRemaining(entry -> {
            List<List<String>> racks = new ArrayList<>();
            entry.getValue().get("racks").forEach(partition -> {
                List<String> one = new ArrayList<>();
                partition.forEach(rack -> one.add(rack.asText()));
                racks.add(one);
            });
            Topic topic = new Topic(entry.getKey(), Uuid.fromString(entry.getValue().get("id").asText()), racks);
            byName.put(topic.name(), topic);
            byId.put(topic.id(), topic);
        });
        return new CoordinatorMetadataImage() {
            @Override public Set<Uuid> topicIds() {
                return byId.keySet();
            }

            @Override public Set<String> topicNames() {
                return byName.keySet();
            }

            @Override public Optional<TopicMetadata> topicMetadata(String name) {
                return Optional.ofNullable(byName.get(name));
            }

            @Override public Optional<TopicMetadata> topicMetadata(Uuid id) {
                return Optional.ofNullable(byId.get(id));
            }

            @Override public CoordinatorMetadataDelta emptyDelta() {
                throw new UnsupportedOperationException();
            }

            @Override public long version() {
                return 0;
            }

            @Override public boolean isEmpty() {
                return byName.isEmpty();
            }
        };
    }
}
