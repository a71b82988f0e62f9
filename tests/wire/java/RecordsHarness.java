import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/**
 * Kafka's own reading and writing of record batches, for comparison with ours.
 *
 * A command is one line of words, an answer some lines and then a line with a dot. Bytes are hex, "" is "x", null "-".
 */
public class RecordsHarness {
    private static final HexFormat HEX = HexFormat.of();
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            try {
                switch (words[0]) {
                    case "errors" -> errors();
                    case "encode" -> encode(words);
                    case "empty" -> empty(words);
                    case "marker" -> marker(words);
                    case "decode" -> decode(words[1]);
                    default -> throw new IllegalArgumentException(words[0]);
                }
            } catch (Exception problem) {
                OUT.println("failed " + problem);
            }
            OUT.println(".");
            OUT.flush();
        }
    }

    private static void errors() {
        for (Errors error : Errors.values())
            OUT.println(error.code() + " " + error.name() + " " + (error.exception() instanceof RetriableException));
    }

    /** encode magic codec timestampType baseOffset appendTime producerId epoch sequence txn control leaderEpoch horizon records... */
    private static void encode(String[] words) throws Exception {
        ByteBufferOutputStream out = new ByteBufferOutputStream(1 << 16);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            out, Byte.parseByte(words[1]), Compression.of(CompressionType.forId(Integer.parseInt(words[2]))).build(),
            words[3].equals("1") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(words[4]), Long.parseLong(words[5]), Long.parseLong(words[6]), Short.parseShort(words[7]),
            Integer.parseInt(words[8]), words[9].equals("1"), words[10].equals("1"), Integer.parseInt(words[11]),
            1 << 30, Long.parseLong(words[12]));
        for (int i = 13; i < words.length; i++) {
            String[] parts = words[i].split(",");
            long timestamp = Long.parseLong(parts[1]);
            SimpleRecord record = new SimpleRecord(timestamp, bytes(parts[2]), bytes(parts[3]), headers(parts));
            builder.appendWithOffset(Long.parseLong(parts[0]), record);
        }
        OUT.println(hex(builder.build().buffer()));
    }

    /** empty producerId epoch sequence baseOffset lastOffset leaderEpoch timestampType timestamp txn control */
    private static void empty(String[] words) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(
            buffer, (byte) 2, Long.parseLong(words[1]), Short.parseShort(words[2]), Integer.parseInt(words[3]),
            Long.parseLong(words[4]), Long.parseLong(words[5]), Integer.parseInt(words[6]),
            words[7].equals("1") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(words[8]), words[9].equals("1"), words[10].equals("1"));
        buffer.flip();
        OUT.println(hex(buffer));
    }

    /** marker isCommit coordinatorEpoch initialOffset timestamp leaderEpoch producerId producerEpoch */
    private static void marker(String[] words) {
        ControlRecordType type = words[1].equals("1") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(
            Long.parseLong(words[3]), Long.parseLong(words[4]), Integer.parseInt(words[5]), Long.parseLong(words[6]),
            Short.parseShort(words[7]), new EndTransactionMarker(type, Integer.parseInt(words[2])));
        OUT.println(hex(records.buffer()));
    }

    private static void decode(String hex) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HEX.parseHex(hex)));
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            OUT.println(String.join(" ", "batch", String.valueOf(batch.baseOffset()), String.valueOf(batch.lastOffset()),
                String.valueOf(batch.magic()), String.valueOf(batch.compressionType().id),
                String.valueOf(batch.timestampType().id), String.valueOf(batch.maxTimestamp()),
                String.valueOf(batch.producerId()), String.valueOf(batch.producerEpoch()),
                String.valueOf(batch.baseSequence()), String.valueOf(batch.lastSequence()),
                String.valueOf(batch.partitionLeaderEpoch()), batch.isTransactional() ? "1" : "0",
                batch.isControlBatch() ? "1" : "0", String.valueOf(batch.deleteHorizonMs().orElse(-1)),
                String.valueOf(batch.sizeInBytes())));
            for (Record record : batch)
                OUT.println("record " + record(record, batch.isControlBatch()));
        }
    }

    private static String record(Record record, boolean isControl) {
        StringBuilder text = new StringBuilder();
        text.append(record.offset()).append(',').append(record.timestamp()).append(',');
        text.append(word(record.key())).append(',').append(word(record.value()));
        for (Header header : record.headers())
            text.append(',').append(word(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8)))).append(',')
                .append(header.value() == null ? "-" : word(ByteBuffer.wrap(header.value())));
        if (isControl && ControlRecordType.parse(record.key()).type() < 2) {
            EndTransactionMarker marker = EndTransactionMarker.deserialize(record);
            text.append(" marker ").append(marker.controlType()).append(' ').append(marker.coordinatorEpoch());
        }
        return text.toString();
    }

    private static Header[] headers(String[] parts) {
        List<Header> headers = new ArrayList<>();
        for (int i = 4; i < parts.length; i += 2)
            headers.add(new RecordHeader(new String(bytes(parts[i]), StandardCharsets.UTF_8), bytes(parts[i + 1])));
        return headers.toArray(new Header[0]);
    }

    private static byte[] bytes(String word) {
        if (word.equals("-"))
            return null;
        return word.equals("x") ? new byte[0] : HEX.parseHex(word);
    }

    private static String word(ByteBuffer buffer) {
        if (buffer == null)
            return "-";
        return buffer.hasRemaining() ? hex(buffer) : "x";
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HEX.formatHex(bytes);
    }
}
