import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.metadata.properties.MetaPropertiesVersion;
import org.apache.kafka.metadata.properties.PropertiesUtils;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LocalLog;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.TransactionIndex;
import org.apache.kafka.storage.internals.log.TxnIndexSearchResult;
import org.apache.kafka.storage.internals.log.VerificationStateEntry;

/**
 * Kafka's own classes for the small files and the producer state of a log, at the other end of a pipe.
 * A line in is a command and its words, a line out its answer after "> ": what Kafka says, or the name of what it threw.
 */
public class StateHarness {
    private static final LogDirFailureChannel FAILURES = new LogDirFailureChannel(10);
    private static ProducerStateManager producers;
    private static LeaderEpochFileCache epochs;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Throwable error) {
                answer = error.getClass().getSimpleName();
            }
            System.out.println("> " + answer);
        }
    }

    private static String answer(String[] w) throws Exception {
        switch (w[0]) {
            case "write-epochs": return writeEpochs(w);
            case "read-epochs": return epochFile(w[1]).read().toString();
            case "write-offsets": return writeOffsets(w);
            case "read-offsets": return readOffsets(w[1]);
            case "rewrite-snapshot": return rewriteSnapshot(w);
            case "write-aborted": return writeAborted(w);
            case "search-aborted": return searchAborted(w);
            case "write-topic-id": return writeTopicId(w);
            case "read-topic-id": return topicIdFile(w[1]).read().topicId().toString();
            case "write-clean": new CleanShutdownFileHandler(w[1]).write(Long.parseLong(w[2])); return "ok";
            case "read-clean": return "" + new CleanShutdownFileHandler(w[1]).read().orElse(-1);
            case "write-meta": return writeMeta(w);
            case "read-meta": return readMeta(w[1]);
            case "write-properties": return writeProperties(w);
            case "read-properties": return readProperties(w[1]);
            case "delete-name": return LocalLog.logDeleteDirName(new TopicPartition(w[1], Integer.parseInt(w[2])));
            case "parse-name": return LocalLog.parseTopicPartitionName(new File(w[1])).toString();
            case "new-epochs": epochs = newEpochs(w[1]); return "ok";
            case "assign": epochs.assign(Integer.parseInt(w[1]), Long.parseLong(w[2])); return epochState();
            case "truncate-end": epochs.truncateFromEndAsyncFlush(Long.parseLong(w[1])); return epochState();
            case "truncate-start": epochs.truncateFromStartAsyncFlush(Long.parseLong(w[1])); return epochState();
            case "end-offset": return endOffset(w);
            case "epoch-for": return "" + epochs.epochForOffset(Long.parseLong(w[1])).orElse(-1);
            case "new-producers": producers = newProducers(w[1]); return "ok";
            case "data": return data(w) + " " + transactionState();
            case "marker": return marker(w) + " " + transactionState();
            case "verify": verify(w); return "ok";
            case "replicated": producers.onHighWatermarkUpdated(Long.parseLong(w[1])); return transactionState();
            case "snapshot": return producers.takeSnapshot(true).map(File::getName).orElse("none");
            default: throw new IllegalArgumentException(w[0]);
        }
    }

    private static LeaderEpochCheckpointFile epochFile(String directory) throws Exception {
        return new LeaderEpochCheckpointFile(LeaderEpochCheckpointFile.newFile(new File(directory)), FAILURES);
    }

    private static String writeEpochs(String[] w) throws Exception {
        List<EpochEntry> entries = new ArrayList<>();
        for (int i = 2; i < w.length; i += 2)
            entries.add(new EpochEntry(Integer.parseInt(w[i]), Long.parseLong(w[i + 1])));
        epochFile(w[1]).write(entries);
        return "ok";
    }

    private static LeaderEpochFileCache newEpochs(String directory) throws Exception {
        // What Kafka would write in the background after a truncation is not asked for here.
        Scheduler never = (Scheduler) Proxy.newProxyInstance(
            Scheduler.class.getClassLoader(), new Class<?>[] {Scheduler.class}, (proxy, method, arguments) -> null);
        return new LeaderEpochFileCache(new TopicPartition("t", 0), epochFile(directory), never);
    }

    private static String epochState() {
        StringBuilder text = new StringBuilder();
        for (EpochEntry entry : epochs.epochEntries())
            text.append(entry.epoch()).append(':').append(entry.startOffset()).append(' ');
        return text.toString().trim();
    }

    private static String endOffset(String[] w) {
        Map.Entry<Integer, Long> found = epochs.endOffsetFor(Integer.parseInt(w[1]), Long.parseLong(w[2]));
        return found.getKey() + ":" + found.getValue();
    }

    private static String writeOffsets(String[] w) throws Exception {
        Map<TopicPartition, Long> offsets = new LinkedHashMap<>();
        for (int i = 2; i < w.length; i += 3)
            offsets.put(new TopicPartition(w[i], Integer.parseInt(w[i + 1])), Long.parseLong(w[i + 2]));
        new OffsetCheckpointFile(new File(w[1]), FAILURES).write(offsets);
        return "ok";
    }

    private static String readOffsets(String path) throws Exception {
        Map<String, Long> sorted = new TreeMap<>();
        new OffsetCheckpointFile(new File(path), FAILURES).read().forEach((key, value) -> sorted.put(key.toString(), value));
        return sorted.toString();
    }

    private static String rewriteSnapshot(String[] w) throws Exception {
        Map<Long, ProducerStateEntry> entries = new HashMap<>();
        for (ProducerStateEntry entry : ProducerStateManager.readSnapshot(new File(w[1])))
            entries.put(entry.producerId(), entry);
        ProducerStateManager.writeSnapshot(new File(w[2]), entries, true);
        return "" + entries.size();
    }

    private static String writeAborted(String[] w) throws Exception {
        try (TransactionIndex index = new TransactionIndex(0, new File(w[1]))) {
            for (int i = 2; i < w.length; i += 4)
                index.append(new AbortedTxn(Long.parseLong(w[i]), Long.parseLong(w[i + 1]), Long.parseLong(w[i + 2]), Long.parseLong(w[i + 3])));
            index.flush();
        }
        return "ok";
    }

    private static String searchAborted(String[] w) throws Exception {
        try (TransactionIndex index = new TransactionIndex(0, new File(w[1]))) {
            index.sanityCheck();
            TxnIndexSearchResult result = index.collectAbortedTxns(Long.parseLong(w[2]), Long.parseLong(w[3]));
            StringBuilder text = new StringBuilder().append(result.isComplete());
            for (AbortedTxn found : result.abortedTransactions())
                text.append(' ').append(found.producerId()).append(':').append(found.firstOffset());
            return text.toString();
        }
    }

    private static PartitionMetadataFile topicIdFile(String directory) {
        return new PartitionMetadataFile(PartitionMetadataFile.newFile(new File(directory)), FAILURES);
    }

    private static String writeTopicId(String[] w) {
        PartitionMetadataFile file = topicIdFile(w[1]);
        file.record(Uuid.fromString(w[2]));
        file.maybeFlush();
        return "ok";
    }

    private static String writeMeta(String[] w) throws Exception {
        MetaProperties meta = new MetaProperties.Builder().setVersion(MetaPropertiesVersion.V1).setClusterId(w[2])
            .setNodeId(OptionalInt.of(Integer.parseInt(w[3]))).setDirectoryId(Uuid.fromString(w[4])).build();
        PropertiesUtils.writePropertiesFile(meta.toProperties(), w[1], true);
        return "ok";
    }

    private static String readMeta(String path) throws Exception {
        MetaProperties meta = new MetaProperties.Builder(PropertiesUtils.readPropertiesFile(path)).build();
        return meta.version().number() + " " + meta.clusterId().orElse("") + " " + meta.nodeId().orElse(-1) + " "
            + meta.directoryId().map(Uuid::toString).orElse("");
    }

    private static String writeProperties(String[] w) throws Exception {
        Properties properties = new Properties();
        properties.setProperty(text(w[2]), text(w[3]));
        PropertiesUtils.writePropertiesFile(properties, w[1], false);
        return "ok";
    }

    private static String readProperties(String path) throws Exception {
        Map<String, String> sorted = new TreeMap<>();
        PropertiesUtils.readPropertiesFile(path).forEach((key, value) -> sorted.put(hex((String) key), hex((String) value)));
        return sorted.toString();
    }

    private static String text(String hex) {
        return hex.equals("-") ? "" : new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
    }

    private static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static ProducerStateManager newProducers(String directory) throws Exception {
        return new ProducerStateManager(new TopicPartition("t", 0), new File(directory), 60000,
            new ProducerStateManagerConfig(86400000, true), Time.SYSTEM);
    }

    /** The steps of a leader's append around the producer state: duplicates, checks, the update. */
    private static String data(String[] w) {
        long producerId = Long.parseLong(w[1]);
        short epoch = Short.parseShort(w[2]);
        int firstSequence = Integer.parseInt(w[3]);
        int lastSequence = Integer.parseInt(w[4]);
        long lastOffset = Long.parseLong(w[7]);
        boolean isTransactional = Boolean.parseBoolean(w[8]);
        AppendOrigin origin = AppendOrigin.valueOf(w[9]);
        Optional<ProducerStateEntry> known = producers.lastEntry(producerId);
        if (origin == AppendOrigin.CLIENT && known.isPresent() && known.get().producerEpoch() == epoch) {
            for (BatchMetadata batch : known.get().batchMetadata())
                if (batch.firstSeq() == firstSequence && batch.lastSeq() == lastSequence)
                    return "duplicate:" + batch.firstOffset() + ":" + batch.lastOffset();
        }
        try {
            ProducerAppendInfo info = producers.prepareUpdate(producerId, origin);
            info.appendDataBatch(epoch, firstSequence, lastSequence, Long.parseLong(w[5]),
                new LogOffsetMetadata(Long.parseLong(w[6])), lastOffset, isTransactional);
            if (isTransactional)
                producers.clearVerificationStateEntry(producerId);
            producers.update(info);
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName();
        }
        producers.updateMapEndOffset(lastOffset + 1);
        return "ok";
    }

    private static String marker(String[] w) {
        long producerId = Long.parseLong(w[1]);
        short epoch = Short.parseShort(w[2]);
        long offset = Long.parseLong(w[4]);
        EndTransactionMarker marker = new EndTransactionMarker(
            Boolean.parseBoolean(w[6]) ? ControlRecordType.COMMIT : ControlRecordType.ABORT, Integer.parseInt(w[3]));
        Optional<CompletedTxn> completed;
        try {
            ProducerAppendInfo info = producers.prepareUpdate(producerId, AppendOrigin.valueOf(w[8]));
            completed = info.appendEndTxnMarker(marker, epoch, offset, Long.parseLong(w[5]), Short.parseShort(w[7]));
            VerificationStateEntry asked = producers.verificationStateEntry(producerId);
            if (asked == null || !asked.supportsEpochBump() || asked.epoch() != epoch)
                producers.clearVerificationStateEntry(producerId);
            producers.update(info);
        } catch (RuntimeException error) {
            return error.getClass().getSimpleName();
        }
        producers.updateMapEndOffset(offset + 1);
        if (completed.isEmpty())
            return "ok";
        CompletedTxn done = completed.get();
        long lastStableOffset = producers.lastStableOffset(done);
        producers.completeTxn(done);
        return "completed:" + done.firstOffset() + ":" + done.lastOffset() + ":" + done.isAborted() + ":" + lastStableOffset;
    }

    private static void verify(String[] w) {
        producers.maybeCreateVerificationStateEntry(
            Long.parseLong(w[1]), Integer.parseInt(w[2]), Short.parseShort(w[3]), Boolean.parseBoolean(w[4]));
    }

    private static String transactionState() {
        return producers.firstUnstableOffset().map(offset -> "" + offset.messageOffset).orElse("-") + " "
            + (producers.firstUndecidedOffset().isPresent() ? "" + producers.firstUndecidedOffset().getAsLong() : "-");
    }
}
