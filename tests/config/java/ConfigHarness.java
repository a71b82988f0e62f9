import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.ConfigHelper;
import kafka.server.ControllerConfigurationValidator;
import kafka.server.KafkaConfig;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsSynonym;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.requests.ApiError;
import org.apache.kafka.controller.ConfigurationControlManager;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Kafka's own configuration classes at the other end of a pipe: a line of JSON in, a line of JSON out after "> ".
 * Each question names what is asked; what Kafka throws is answered as {"error": class, "message": text}.
 */
public class ConfigHarness {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConfigDef> SETS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        SETS.put("broker", KafkaConfig.configDef());
        SETS.put("quota", QuotaConfig.brokerQuotaConfigs());
        SETS.put("topic", LogConfig.configDefCopy());
        SETS.put("group", GroupConfig.CONFIG_DEF);
        SETS.put("client_metrics", ClientMetricsConfigs.configDef());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Object answer;
            try {
                answer = answer(JSON.readTree(line));
            } catch (InvocationTargetException thrown) {
                answer = failure(thrown.getCause());
            } catch (Throwable thrown) {
                answer = failure(thrown);
            }
            System.out.println("> " + JSON.writeValueAsString(answer));
        }
    }

    private static Map<String, Object> failure(Throwable thrown) {
        return Map.of("error", thrown.getClass().getSimpleName(), "message", String.valueOf(thrown.getMessage()));
    }

    private static Object answer(JsonNode question) throws Exception {
        switch (question.get("ask").asText()) {
            case "keys": return keys(SETS.get(question.get("set").asText()));
            case "synonyms": return synonyms();
            case "parse": return parse(question);
            case "load": return load(question);
            case "describe": return describe(question);
            case "topic": return topicValues(question);
            case "dynamic": return dynamic(question);
            case "alter": return alter(question);
            default: throw new IllegalArgumentException("what is " + question + "?");
        }
    }

    private static Object keys(ConfigDef definition) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        Map<String, Object> found = new TreeMap<>();
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            Map<String, Object> facts = new HashMap<>();
            facts.put("type", key.type.name());
            facts.put("has_default", key.hasDefault());
            facts.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            facts.put("importance", key.importance.name());
            facts.put("internal", key.internalConfig);
            facts.put("update", modes.getOrDefault(key.name, "read-only"));
            facts.put("sensitive", key.type == ConfigDef.Type.PASSWORD);
            found.put(key.name, facts);
        }
        return found;
    }

    private static Object synonyms() {
        Map<String, Object> topics = new TreeMap<>();
        for (Map.Entry<String, List<ConfigSynonym>> entry : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.entrySet()) {
            List<Object> names = new ArrayList<>();
            for (ConfigSynonym synonym : entry.getValue())
                names.add(List.of(synonym.name(), Long.parseLong(synonym.converter().apply("1"))));
            topics.put(entry.getKey(), names);
        }
        Map<String, Object> groups = new TreeMap<>();
        GroupConfig.ALL_GROUP_CONFIG_SYNONYMS.forEach((name, broker) -> groups.put(name, broker.orElse(null)));
        return Map.of("topic", topics, "group", groups);
    }

    /** The text of a value after it was parsed and validated on its own, through ConfigDef. */
    private static Object parse(JsonNode question) {
        String set = question.get("set").asText();
        String name = question.get("name").asText();
        ConfigDef all = SETS.get(set);
        ConfigDef one = new ConfigDef();
        one.define(all.configKeys().get(name));
        Object value = one.parse(Map.of(name, question.get("value").asText())).get(name);
        Map<String, Object> answer = new HashMap<>();
        answer.put("value", ConfigDef.convertToString(value, all.configKeys().get(name).type));
        return answer;
    }

    private static Properties properties(JsonNode texts) {
        Properties found = new Properties();
        if (texts != null)
            texts.fields().forEachRemaining(entry -> found.setProperty(entry.getKey(), entry.getValue().asText()));
        return found;
    }

    private static Map<String, String> map(JsonNode texts) {
        Map<String, String> found = new LinkedHashMap<>();
        if (texts != null)
            texts.fields().forEachRemaining(entry -> found.put(entry.getKey(), entry.getValue().asText()));
        return found;
    }

    private static KafkaConfig config(JsonNode question) {
        KafkaConfig config = KafkaConfig.fromProps(properties(question.get("static")), false);
        config.dynamicConfig().initialize(scala.Option.empty());
        if (question.has("cluster"))
            config.dynamicConfig().updateDefaultConfig(properties(question.get("cluster")), false);
        if (question.has("broker"))
            config.dynamicConfig().updateBrokerConfig(config.nodeId(), properties(question.get("broker")), false);
        return config;
    }

    private static Object load(JsonNode question) {
        KafkaConfig config = config(question);
        LogConfig.validateBrokerLogConfigValues(config.extractLogConfigMap(), false);
        config.earlyStartListeners();
        config.groupCoordinatorRebalanceProtocols();
        Map<String, Object> answer = new HashMap<>();
        answer.put("listeners", endpoints(config.listeners()));
        answer.put("advertised", endpoints(config.effectiveAdvertisedBrokerListeners()));
        answer.put("controllers", endpoints(config.effectiveAdvertisedControllerListeners()));
        answer.put("inter_broker", config.interBrokerListenerName().value());
        answer.put("log_dirs", config.logDirs());
        answer.put("metadata_log_dir", config.metadataLogDir());
        return answer;
    }

    private static List<Object> endpoints(scala.collection.Seq<Endpoint> endpoints) {
        List<Object> found = new ArrayList<>();
        for (Endpoint endpoint : scala.jdk.javaapi.CollectionConverters.asJava(endpoints))
            found.add(List.of(endpoint.listener(), endpoint.host() == null ? "" : endpoint.host(), endpoint.port(),
                endpoint.securityProtocol().name));
        return found;
    }

    private static Object describe(JsonNode question) {
        KafkaConfig config = config(question);
        MetadataCache topics = (MetadataCache) Proxy.newProxyInstance(ConfigHarness.class.getClassLoader(),
            new Class<?>[]{MetadataCache.class}, (proxy, method, arguments) -> method.getName().equals("contains") ? true : null);
        Properties overrides = properties(question.get("overrides"));
        ConfigHelper helper = new ConfigHelper(topics, config, resource -> overrides);
        DescribeConfigsResource resource = new DescribeConfigsResource()
            .setResourceType(ConfigResource.Type.valueOf(question.get("type").asText()).id())
            .setResourceName(question.get("name").asText()).setConfigurationKeys(null);
        DescribeConfigsResult result = helper.describeConfigs(
            scala.jdk.javaapi.CollectionConverters.asScala(List.of(resource)).toList(), true, true).head();
        if (result.errorCode() != 0)
            return Map.of("error", (int) result.errorCode(), "message", String.valueOf(result.errorMessage()));
        Map<String, Object> answer = new TreeMap<>();
        for (DescribeConfigsResourceResult entry : result.configs()) {
            List<Object> synonyms = new ArrayList<>();
            for (DescribeConfigsSynonym synonym : entry.synonyms()) {
                List<Object> row = new ArrayList<>();
                row.add(synonym.name());
                row.add(synonym.value());
                row.add((int) synonym.source());
                synonyms.add(row);
            }
            Map<String, Object> facts = new HashMap<>();
            facts.put("value", entry.value());
            facts.put("source", (int) entry.configSource());
            facts.put("type", (int) entry.configType());
            facts.put("read_only", entry.readOnly());
            facts.put("sensitive", entry.isSensitive());
            facts.put("documented", entry.documentation() != null);
            facts.put("synonyms", synonyms);
            answer.put(entry.name(), facts);
        }
        return answer;
    }

    /** What a log of a topic would be given. */
    private static Object topicValues(JsonNode question) {
        LogConfig log = LogConfig.fromProps(config(question).extractLogConfigMap(), properties(question.get("overrides")));
        Map<String, Object> answer = new HashMap<>();
        answer.put("segment_bytes", log.segmentSize());
        answer.put("segment_ms", log.segmentMs);
        answer.put("segment_jitter_ms", log.segmentJitterMs);
        answer.put("roll_ms", log.maxSegmentMs());
        answer.put("segment_index_bytes", log.maxIndexSize);
        answer.put("index_interval_bytes", log.indexInterval);
        answer.put("max_message_bytes", log.maxMessageSize());
        answer.put("compression_type", log.getString("compression.type"));
        answer.put("compression_gzip_level", log.getInt("compression.gzip.level"));
        answer.put("compression_lz4_level", log.getInt("compression.lz4.level"));
        answer.put("compression_zstd_level", log.getInt("compression.zstd.level"));
        answer.put("flush_messages", log.flushInterval);
        answer.put("flush_ms", log.flushMs);
        answer.put("retention_bytes", log.retentionSize);
        answer.put("retention_ms", log.retentionMs);
        answer.put("file_delete_delay_ms", log.fileDeleteDelayMs);
        answer.put("compact", log.compact);
        answer.put("delete", log.delete);
        answer.put("delete_retention_ms", log.deleteRetentionMs);
        answer.put("min_compaction_lag_ms", log.compactionLagMs);
        answer.put("max_compaction_lag_ms", log.maxCompactionLagMs);
        answer.put("min_cleanable_dirty_ratio", log.minCleanableRatio);
        answer.put("log_append_time", log.messageTimestampType.name.equals("LogAppendTime"));
        answer.put("message_timestamp_before_max_ms", log.messageTimestampBeforeMaxMs);
        answer.put("message_timestamp_after_max_ms", log.messageTimestampAfterMaxMs);
        return answer;
    }

    /** Whether the broker would take these dynamic values for itself, or for the whole cluster. */
    private static Object dynamic(JsonNode question) {
        KafkaConfig config = config(question);
        config.dynamicConfig().validate(properties(question.get("texts")), question.get("per_broker").asBoolean());
        return Map.of("value", "taken");
    }

    /** The records that the controller would write, or its error. */
    private static Object alter(JsonNode question) throws Exception {
        KafkaConfig config = config(question);
        ConfigResource resource = new ConfigResource(
            ConfigResource.Type.valueOf(question.get("type").asText()), question.get("name").asText());
        ConfigurationControlManager manager = manager(config);
        map(question.get("current")).forEach((name, value) -> manager.replay(new ConfigRecord()
            .setResourceType(resource.type().id()).setResourceName(resource.name()).setName(name).setValue(value)));
        Object result = question.has("wanted")
            ? call(manager, "legacyAlterConfigs", Map.of(resource, map(question.get("wanted"))), false, false)
            : call(manager, "incrementalAlterConfigs", Map.of(resource, operations(question.get("operations"))), false, false);
        ApiError error = (ApiError) ((Map<?, ?>) call(result, "response")).get(resource);
        if (error.isFailure())
            return Map.of("error", error.error().name(), "message", String.valueOf(error.message()));
        Map<String, Object> records = new TreeMap<>();
        for (Object written : (List<?>) call(result, "records")) {
            ConfigRecord record = (ConfigRecord) ((ApiMessageAndVersion) written).message();
            records.put(record.name(), record.value());
        }
        return Map.of("records", records);
    }

    private static Map<String, Map.Entry<AlterConfigOp.OpType, String>> operations(JsonNode rows) {
        Map<String, Map.Entry<AlterConfigOp.OpType, String>> found = new LinkedHashMap<>();
        for (JsonNode row : rows)
            found.put(row.get(0).asText(), new java.util.AbstractMap.SimpleEntry<>(
                AlterConfigOp.OpType.forId((byte) row.get(1).asInt()), row.get(2).isNull() ? null : row.get(2).asText()));
        return found;
    }

    private static ConfigurationControlManager manager(KafkaConfig config) throws Exception {
        Class<?> kind = Class.forName("org.apache.kafka.controller.ConfigurationControlManager$Builder");
        Constructor<?> constructor = kind.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object builder = constructor.newInstance();
        call(builder, "setKafkaConfigSchema", kafka.server.KafkaRaftServer.configSchema());
        call(builder, "setValidator", new ControllerConfigurationValidator(config));
        call(builder, "setFeatureControl", featureControl());
        return (ConfigurationControlManager) call(builder, "build");
    }

    private static Object featureControl() throws Exception {
        Constructor<?> constructor = Class.forName("org.apache.kafka.controller.FeatureControlManager$Builder").getDeclaredConstructor();
        constructor.setAccessible(true);
        return call(constructor.newInstance(), "build");
    }

    private static Object call(Object target, String name, Object... arguments) throws Exception {
        for (Method method : target.getClass().getDeclaredMethods())
            if (method.getName().equals(name) && method.getParameterCount() == arguments.length) {
                method.setAccessible(true);
                return method.invoke(target, arguments);
            }
        throw new NoSuchMethodException(name);
    }
}
