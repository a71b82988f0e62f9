import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;

/** The cluster itself: nodes, directories, features, quorum, producers, transactions. */
final class ClusterScenarios {
    static final Map<String, Scenarios.Scenario> ALL = new LinkedHashMap<>();

    static {
        ALL.put("describe_cluster", ClusterScenarios::describe);
        ALL.put("log_dirs", ClusterScenarios::logDirs);
        ALL.put("features", ClusterScenarios::features);
        ALL.put("feature_updates", ClusterScenarios::featureUpdates);
        ALL.put("quorum", ClusterScenarios::quorum);
        ALL.put("producers", ClusterScenarios::producers);
        ALL.put("transactions", ClusterScenarios::transactions);
        ALL.put("through_a_controller", ClusterScenarios::throughController);
    }

    private static void describe(World world) throws Exception {
        for (boolean withOperations : new boolean[] {false, true}) {
            var cluster = world.admin.describeCluster(new DescribeClusterOptions().includeAuthorizedOperations(withOperations));
            world.say("id", World.got(cluster.clusterId()));
            world.say("nodes", Reading.withoutPorts(World.got(cluster.nodes())));
            world.say("controller", Reading.withoutPorts(World.got(cluster.controller())));
            var operations = World.got(cluster.authorizedOperations());
            world.say("operations", operations == null ? null : new TreeSet<>(operations));
        }
    }

    private static void logDirs(World world) throws Exception {
        String topic = world.topic("dirs", 2);
        world.fill(topic, 0, 10);
        var described = World.got(world.admin.describeLogDirs(List.of(1)).allDescriptions()).get(1);
        world.say("directories", described.size());
        String directory = described.keySet().iterator().next();
        described.values().forEach(dir -> {
            world.say("error", dir.error());
            world.say("space", (dir.totalBytes().orElse(-1) > 0) + " " + (dir.usableBytes().orElse(-1) > 0));
            Map<String, Object> replicas = new TreeMap<>();
            dir.replicaInfos().forEach((partition, info) -> {
                if (partition.topic().equals(topic)) {
                    replicas.put(partition.toString(), info);
                }
            });
            world.say("replicas", replicas);
        });
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, 0, 1);
        TopicPartitionReplica unknown = new TopicPartitionReplica(topic, 7, 1);
        for (TopicPartitionReplica one : List.of(replica, unknown)) {
            world.attempt("replica " + one, () -> World.got(world.admin.describeReplicaLogDirs(List.of(one)).all())
                    .get(one).toString().replace(directory, "DIRECTORY"));
            world.attempt("stays " + one, () -> World.got(world.admin.alterReplicaLogDirs(Map.of(one, directory)).all()));
            world.attempt("moves " + one, () -> World.got(world.admin.alterReplicaLogDirs(Map.of(one, "/elsewhere")).all()));
        }
        world.attempt("no path", () -> World.got(world.admin.alterReplicaLogDirs(Map.of(replica, "here")).all()));
    }

    private static void features(World world) throws Exception {
        var described = World.got(world.admin.describeFeatures().featureMetadata());
        world.say("finalized", new TreeMap<>(described.finalizedFeatures()));
        world.say("has an epoch", described.finalizedFeaturesEpoch().isPresent());
        var supported = described.supportedFeatures().get("metadata.version");
        world.say("metadata.version", supported);
        world.say("kraft.version", described.supportedFeatures().get("kraft.version"));
    }

    /** Nothing but checks: what is done to features cannot always be undone. */
    private static void featureUpdates(World world) {
        UpdateFeaturesOptions checked = new UpdateFeaturesOptions().validateOnly(true);
        Map<String, Map<String, FeatureUpdate>> updates = new LinkedHashMap<>();
        updates.put("same level", Map.of("metadata.version", new FeatureUpdate((short) 30, UpgradeType.UPGRADE)));
        updates.put("down", Map.of("metadata.version", new FeatureUpdate((short) 27, UpgradeType.SAFE_DOWNGRADE)));
        updates.put("down as an upgrade", Map.of("metadata.version", new FeatureUpdate((short) 20, UpgradeType.UPGRADE)));
        updates.put("far down", Map.of("metadata.version", new FeatureUpdate((short) 7, UpgradeType.UNSAFE_DOWNGRADE)));
        updates.put("too high", Map.of("metadata.version", new FeatureUpdate((short) 99, UpgradeType.UPGRADE)));
        updates.put("unknown", Map.of("no.such.feature", new FeatureUpdate((short) 1, UpgradeType.UPGRADE)));
        updates.put("quorum down", Map.of("kraft.version", new FeatureUpdate((short) 0, UpgradeType.UNSAFE_DOWNGRADE)));
        for (var entry : updates.entrySet()) {
            world.attempt(entry.getKey(), () -> World.got(world.admin.updateFeatures(entry.getValue(), checked).all()));
        }
    }

    private static void quorum(World world) throws Exception {
        QuorumInfo quorum = World.got(world.admin.describeMetadataQuorum().quorumInfo());
        world.say("leader", quorum.leaderId() + " " + (quorum.leaderEpoch() > 0) + " " + (quorum.highWatermark() > 0));
        for (QuorumInfo.ReplicaState voter : quorum.voters()) {
            world.say("voter", voter.replicaId() + " " + (voter.logEndOffset() >= quorum.highWatermark())
                    + " " + voter.lastFetchTimestamp().isPresent() + " " + voter.lastCaughtUpTimestamp().isPresent()
                    + " " + !voter.replicaDirectoryId().toString().equals("AAAAAAAAAAAAAAAAAAAAAA"));
        }
        world.say("observers", quorum.observers().size());
        world.say("nodes", Reading.withoutPorts(quorum.nodes()));
    }

    private static void producers(World world) throws Exception {
        String topic = world.topic("producers", 1);
        for (TopicPartition partition : List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 5))) {
            var options = new org.apache.kafka.clients.admin.DescribeProducersOptions().timeoutMs(500);
            try {
                world.say("none yet", World.got(world.admin.describeProducers(List.of(partition), options).all())
                        .get(partition).activeProducers());
            } catch (java.util.concurrent.ExecutionException error) {
                world.say(partition.toString(), error.getCause().getClass().getSimpleName());
            }
        }
        world.attempt("at another broker", () -> World.got(world.admin.describeProducers(
                List.of(new TopicPartition(topic, 0)),
                new org.apache.kafka.clients.admin.DescribeProducersOptions().brokerId(1)).all()).size());
    }

    private static void transactions(World world) {
        world.attempt("all", () -> World.got(world.admin.listTransactions().all()));
        var options = new org.apache.kafka.clients.admin.ListTransactionsOptions()
                .filterProducerIds(List.of(1L)).filterOnDuration(1000)
                .filterStates(List.of(org.apache.kafka.clients.admin.TransactionState.ONGOING));
        world.attempt("some", () -> World.got(world.admin.listTransactions(options).all()));
    }

    private static void throughController(World world) {
        try (Admin admin = world.admin(Map.of("bootstrap.controllers", world.controllers))) {
            world.attempt("nodes", () -> Reading.withoutPorts(World.got(admin.describeCluster().nodes())));
            world.attempt("cluster", () -> World.got(admin.describeCluster().clusterId()));
            world.attempt("quorum", () -> World.got(admin.describeMetadataQuorum().quorumInfo()).leaderId());
            world.attempt("features", () -> World.got(admin.describeFeatures().featureMetadata()).finalizedFeatures().get("metadata.version"));
        }
    }
}
