import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Kafka's own classes for metadata records, images and changes of partitions, at the other end of a pipe.
 * A line in is a command and its words, a line out its answer after "> ": what Kafka says, or the name of what it threw.
 */
public class MetadataHarness {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Throwable thrown) {
                answer = thrown.getClass().getSimpleName();
            }
            System.out.println("> " + answer);
        }
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "echo": return frame(record(words[1]));
            case "image": return image(words);
            case "change": return change(words);
            case "bootstrap": return frames(new BootstrapDirectory(words[1]).read().records());
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    private static ApiMessageAndVersion record(String hex) {
        ByteBuffer buffer = ByteBuffer.wrap(HexFormat.of().parseHex(hex));
        return SERDE.read(new ByteBufferAccessor(buffer), buffer.remaining());
    }

    private static String frame(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(buffer));
        return HexFormat.of().formatHex(buffer.array());
    }

    private static String frames(List<ApiMessageAndVersion> records) {
        return records.stream().map(MetadataHarness::frame).collect(Collectors.joining(" "));
    }

    /**
     * image FRAME...: the records that Kafka's image of these records would write, in the order of their bytes.
     * Each record is a delta of its own: one that adds a SCRAM user and removes the last one loses both.
     */
    private static String image(String[] words) {
        MetadataImage image = MetadataImage.EMPTY;
        for (int i = 1; i < words.length; i++) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            delta.replay(record(words[i]).message());
            image = delta.apply(new MetadataProvenance(i, 1, 1, true));
        }
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(image).build());
        List<String> written = new ArrayList<>();
        writer.records().forEach(record -> written.add(frame(record)));
        Collections.sort(written);
        return String.join(" ", written);
    }

    /**
     * change PARTITION-FRAME VERSION MIN-ISR ELR ELECTION ACTIVE ISR REPLICAS REMOVING ADDING UNCLEAN RECOVERY DIRECTORY:
     * the change record's frame, or "none". Lists are joined by commas, "-" leaves a target alone.
     */
    private static String change(String[] words) {
        PartitionRecord before = (PartitionRecord) record(words[1]).message();
        Set<Integer> active = new HashSet<>(ids(words[6]));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            new PartitionRegistration(before), before.topicId(), before.partitionId(), active::contains,
            MetadataVersion.fromFeatureLevel(Short.parseShort(words[2])), Integer.parseInt(words[3]),
            Boolean.parseBoolean(words[4]));
        builder.setElection(PartitionChangeBuilder.Election.valueOf(words[5]));
        builder.setDefaultDirProvider(id -> new Uuid(7, id));
        if (!words[7].equals("-")) builder.setTargetIsr(ids(words[7]));
        if (!words[8].equals("-")) builder.setTargetReplicas(ids(words[8]));
        if (!words[9].equals("-")) builder.setTargetRemoving(ids(words[9]));
        if (!words[10].equals("-")) builder.setTargetAdding(ids(words[10]));
        if (!words[11].equals("-")) builder.setUncleanShutdownReplicas(ids(words[11]));
        builder.setTargetLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(words[12])));
        if (!words[13].equals("-")) builder.setDirectory(Integer.parseInt(words[13]), new Uuid(8, 8));
        Optional<ApiMessageAndVersion> record = builder.build();
        return record.isPresent() ? frame(record.get()) : "none";
    }

    private static List<Integer> ids(String word) {
        if (word.equals("none")) return List.of();
        return Arrays.stream(word.split(",")).map(Integer::valueOf).collect(Collectors.toList());
    }
}
