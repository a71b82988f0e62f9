import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.yammer.metrics.core.MetricsRegistry;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupDescribeResponseData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Kafka's own group coordinator shard at the other end of a pipe, with a clock that is turned by hand and a log that
 * takes everything at once: a line of JSON in, a line of JSON out after "> ". Messages go in and out as the bytes of the
 * wire, in base64. Each answer holds the records that were written, the parked requests that were answered, and the
 * response or the error code.
 */
public class ShardHarness {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long NO_PRODUCER = -1L;

    private final Clock clock = new Clock();
    private final Timers timers = new Timers();
    private final Tasks tasks = new Tasks();
    private final List<Object> written = new ArrayList<>();
    private final Map<String, Parked> parked = new LinkedHashMap<>();
    private final GroupCoordinatorShard shard;
    private CoordinatorMetadataImage image;
    private long offset = 0;

    private record Parked(short version, CompletableFuture<? extends ApiMessage> future) { }

    public static void main(String[] args) throws Exception {
        Security.insertProviderAt(new Draws(), 1);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ShardHarness harness = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode question = JSON.readTree(line);
            Map<String, Object> answer;
            try {
                if (question.get("ask").asText().equals("new")) harness = new ShardHarness(question);
                answer = harness.answer(question);
            } catch (Throwable thrown) {
                thrown.printStackTrace();
                answer = Map.of("failure", String.valueOf(thrown));
            }
            System.out.println("> " + JSON.writeValueAsString(answer));
        }
    }

    /** Random ids that are the same in every run: what Kafka draws is drawn from here. */
    public static final class Draws extends Provider {
        private static final Random CHANCE = new Random();

        Draws() {
            super("Draws", "1", "the same in every run");
            put("SecureRandom.Draws", Spi.class.getName());
        }

        public static final class Spi extends SecureRandomSpi {
            @Override protected void engineSetSeed(byte[] seed) { }

            @Override protected void engineNextBytes(byte[] bytes) {
                CHANCE.nextBytes(bytes);
            }

            @Override protected byte[] engineGenerateSeed(int count) {
                return new byte[count];
            }
        }
    }

    private ShardHarness(JsonNode question) {
        Draws.CHANCE.setSeed(question.get("seed").asLong());
        Properties properties = new Properties();
        question.get("config").fields().forEachRemaining(
            entry -> properties.setProperty(entry.getKey(), entry.getValue().asText()));
        KafkaConfig config = new KafkaConfig(properties, false);
        SnapshotRegistry registry = new SnapshotRegistry(new LogContext());
        GroupConfigManager groupConfigs = new GroupConfigManager(
            Map.of(), config.groupCoordinatorConfig(), config.shareGroupConfig());
        question.get("group_configs").fields().forEachRemaining(entry -> {
            Properties own = new Properties();
            entry.getValue().fields().forEachRemaining(one -> own.setProperty(one.getKey(), one.getValue().asText()));
            groupConfigs.updateGroupConfig(entry.getKey(), own);
        });
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config.groupCoordinatorConfig(), groupConfigs);
        builder.withAuthorizerPlugin(Optional.empty());
        builder.withLogContext(new LogContext()).withSnapshotRegistry(registry).withTime(clock).withTimer(timers)
            .withExecutor(tasks).withTopicPartition(new TopicPartition("__consumer_offsets", 0))
            .withCoordinatorMetrics(new GroupCoordinatorMetrics(new MetricsRegistry(), new Metrics()));
        shard = builder.build();
        clock.now = question.get("now_ms").asLong();
        image = new Image(question.get("topics"), question.get("version").asLong());
        shard.onLoaded(image);
    }

    private Map<String, Object> answer(JsonNode question) throws Exception {
        written.clear();
        Map<String, Object> answer = new HashMap<>();
        switch (question.get("ask").asText()) {
            case "new":
                break;
            case "advance":
                advance(question.get("ms").asLong());
                break;
            case "topics":
                topics(question);
                break;
            case "request":
                request(question, answer);
                break;
            default:
                throw new IllegalArgumentException(question.toString());
        }
        tasks.run();
        advance(0);
        answer.put("records", new ArrayList<>(written));
        answer.put("answers", completed());
        return answer;
    }

    // Requests

    private void request(JsonNode question, Map<String, Object> answer) {
        short version = (short) question.get("version").asInt();
        ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(Base64.getDecoder().decode(question.get("body").asText())));
        try {
            ApiMessage response = respond(question.get("api").asText(), body, version, question.get("token").asText());
            if (response != null) answer.put("response", encoded(response, version));
        } catch (Throwable thrown) {
            answer.put("error", (int) Errors.forException(thrown).code());
            answer.put("message", String.valueOf(thrown));
        }
    }

    private ApiMessage respond(String api, ByteBufferAccessor body, short version, String token) {
        AuthorizableRequestContext context = new Context(version);
        switch (api) {
            case "ConsumerGroupHeartbeat":
                return done(shard.consumerGroupHeartbeat(context, new ConsumerGroupHeartbeatRequestData(body, version)));
            case "JoinGroup":
                CompletableFuture<JoinGroupResponseData> joined = new CompletableFuture<>();
                parked.put(token, new Parked(version, joined));
                return unparkedIfItThrows(token, () -> done(shard.classicGroupJoin(context, new JoinGroupRequestData(body, version), joined)));
            case "SyncGroup":
                CompletableFuture<SyncGroupResponseData> synced = new CompletableFuture<>();
                parked.put(token, new Parked(version, synced));
                return unparkedIfItThrows(token, () -> done(shard.classicGroupSync(context, new SyncGroupRequestData(body, version), synced)));
            case "Heartbeat":
                return done(shard.classicGroupHeartbeat(context, new HeartbeatRequestData(body, version)));
            case "LeaveGroup":
                return done(shard.classicGroupLeave(context, new LeaveGroupRequestData(body, version)));
            case "OffsetCommit":
                return done(shard.commitOffset(context, withTopicIds(new OffsetCommitRequestData(body, version))));
            case "ConsumerGroupDescribe":
                return new ConsumerGroupDescribeResponseData().setGroups(shard.consumerGroupDescribe(List.of("g"), Long.MAX_VALUE));
            case "DescribeGroups":
                return new DescribeGroupsResponseData().setGroups(shard.describeGroups(context, List.of("g"), Long.MAX_VALUE));
            default:
                throw new IllegalArgumentException(api);
        }
    }

    /** Before version 10 a broker finds the ids itself, before it asks the coordinator. */
    private OffsetCommitRequestData withTopicIds(OffsetCommitRequestData request) {
        request.topics().forEach(topic -> image.topicMetadata(topic.name()).ifPresent(found -> topic.setTopicId(found.id())));
        return request;
    }

    private ApiMessage unparkedIfItThrows(String token, Supplier<Object> call) {
        try {
            call.get();
            return null;
        } catch (RuntimeException thrown) {
            parked.remove(token);
            throw thrown;
        }
    }

    private <T> T done(CoordinatorResult<T, CoordinatorRecord> result) {
        for (CoordinatorRecord record : result.records()) {
            String key = Base64.getEncoder().encodeToString(MessageUtil.toCoordinatorTypePrefixedBytes(record.key()));
            String value = record.value() == null ? null : Base64.getEncoder().encodeToString(
                MessageUtil.toVersionPrefixedBytes(record.value().version(), record.value().message()));
            written.add(Arrays.asList(key, value));
            if (result.replayRecords()) shard.replay(offset, NO_PRODUCER, (short) -1, record);
            offset++;
        }
        if (result.appendFuture() != null) result.appendFuture().complete(null);
        return result.response();
    }

    private static String encoded(ApiMessage message, short version) {
        return Base64.getEncoder().encodeToString(MessageUtil.byteBufferToArray(
            MessageUtil.toByteBufferAccessor(message, version).buffer()));
    }

    private Map<String, Object> completed() throws Exception {
        Map<String, Object> found = new HashMap<>();
        for (Iterator<Map.Entry<String, Parked>> entries = parked.entrySet().iterator(); entries.hasNext();) {
            Map.Entry<String, Parked> entry = entries.next();
            if (entry.getValue().future().isDone()) {
                found.put(entry.getKey(), encoded(entry.getValue().future().get(), entry.getValue().version()));
                entries.remove();
            }
        }
        return found;
    }

    // Time

    private void advance(long ms) {
        long end = clock.now + ms;
        while (timers.next() != null && timers.deadlines.get(timers.next()) <= end) {
            String key = timers.next();
            clock.now = Math.max(clock.now, timers.deadlines.get(key));
            CoordinatorTimer.TimeoutOperation<CoordinatorRecord> operation = timers.operations.get(key);
            timers.cancel(key);
            done(operation.generateRecords());
            tasks.run();
        }
        clock.now = end;
    }

    private static class Clock implements Time {
        long now = 0;

        @Override public long milliseconds() {
            return now;
        }

        @Override public long nanoseconds() {
            return now * 1_000_000;
        }

        @Override public void sleep(long ms) {
            throw new UnsupportedOperationException();
        }

        @Override public void waitObject(Object object, Supplier<Boolean> condition, long deadline) {
            throw new UnsupportedOperationException();
        }
    }

    private class Timers implements CoordinatorTimer<CoordinatorRecord> {
        final Map<String, Long> deadlines = new LinkedHashMap<>();
        final Map<String, TimeoutOperation<CoordinatorRecord>> operations = new HashMap<>();

        String next() {
            String found = null;
            for (String key : deadlines.keySet()) {
                if (found == null || deadlines.get(key) < deadlines.get(found)) found = key;
            }
            return found;
        }

        @Override public void schedule(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation) {
            deadlines.remove(key);
            deadlines.put(key, clock.now + unit.toMillis(delay));
            operations.put(key, operation);
        }

        @Override public void schedule(String key, long delay, TimeUnit unit, boolean retry, long backoff, TimeoutOperation<CoordinatorRecord> operation) {
            schedule(key, delay, unit, retry, operation);
        }

        @Override public void scheduleIfAbsent(String key, long delay, TimeUnit unit, boolean retry, TimeoutOperation<CoordinatorRecord> operation) {
            if (!isScheduled(key)) schedule(key, delay, unit, retry, operation);
        }

        @Override public void cancel(String key) {
            deadlines.remove(key);
            operations.remove(key);
        }

        @Override public boolean isScheduled(String key) {
            return deadlines.containsKey(key);
        }
    }

    private class Tasks implements CoordinatorExecutor<CoordinatorRecord> {
        private final Map<String, Runnable> waiting = new LinkedHashMap<>();

        @Override public <R> boolean schedule(String key, TaskRunnable<R> task, TaskOperation<CoordinatorRecord, R> operation) {
            return waiting.putIfAbsent(key, () -> {
                R result;
                try {
                    result = task.run();
                } catch (Throwable thrown) {
                    throw new IllegalStateException(thrown);
                }
                done(operation.onComplete(result, null));
            }) == null;
        }

        @Override public boolean isScheduled(String key) {
            return waiting.containsKey(key);
        }

        @Override public void cancel(String key) {
            waiting.remove(key);
        }

        void run() {
            Deque<String> keys = new ArrayDeque<>(waiting.keySet());
            while (!keys.isEmpty()) {
                Runnable task = waiting.remove(keys.poll());
                if (task != null) task.run();
            }
        }
    }

    // Topics: {name: {"id": id, "partitions": count}}

    private void topics(JsonNode question) {
        CoordinatorMetadataImage before = image;
        Image after = new Image(question.get("topics"), question.get("version").asLong());
        image = after;
        Set<Uuid> created = new HashSet<>(after.topicIds());
        created.removeAll(before.topicIds());
        Set<Uuid> deleted = new HashSet<>(before.topicIds());
        deleted.removeAll(after.topicIds());
        Set<Uuid> changed = new HashSet<>(created);
        for (Uuid id : after.topicIds()) {
            if (!after.topicMetadata(id).equals(before.topicMetadata(id))) changed.add(id);
        }
        shard.onMetadataUpdate(new CoordinatorMetadataDelta() {
            @Override public Collection<Uuid> createdTopicIds() {
                return created;
            }

            @Override public Collection<Uuid> changedTopicIds() {
                return changed;
            }

            @Override public Set<Uuid> deletedTopicIds() {
                return deleted;
            }

            @Override public CoordinatorMetadataImage image() {
                return before;
            }
        }, after);
    }

    private record Topic(String name, Uuid id, int partitionCount) implements CoordinatorMetadataImage.TopicMetadata {
        @Override public List<String> partitionRacks(int partition) {
            return new ArrayList<>();
        }
    }

    private static class Image implements CoordinatorMetadataImage {
        private final Map<String, TopicMetadata> byName = new LinkedHashMap<>();
        private final Map<Uuid, TopicMetadata> byId = new LinkedHashMap<>();
        private final long version;

        Image(JsonNode told, long version) {
            this.version = version;
            told.fields().forEachRemaining(entry -> {
                Uuid id = Uuid.fromString(entry.getValue().get("id").asText());
                Topic topic = new Topic(entry.getKey(), id, entry.getValue().get("partitions").asInt());
                byName.put(topic.name(), topic);
                byId.put(topic.id(), topic);
            });
        }

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
            return CoordinatorMetadataDelta.EMPTY;
        }

        @Override public long version() {
            return version;
        }

        @Override public boolean isEmpty() {
            return byName.isEmpty();
        }
    }

    private record Context(int requestVersion) implements AuthorizableRequestContext {
        @Override public String listenerName() {
            return "PLAINTEXT";
        }

        @Override public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override public KafkaPrincipal principal() {
            return KafkaPrincipal.ANONYMOUS;
        }

        @Override public InetAddress clientAddress() {
            return InetAddress.getLoopbackAddress();
        }

        @Override public int requestType() {
            return 0;
        }

        @Override public String clientId() {
            return "client";
        }

        @Override public int correlationId() {
            return 0;
        }
    }
}
