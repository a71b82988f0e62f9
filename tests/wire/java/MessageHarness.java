import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;

/**
 * Kafka's generated message classes behind a pipe: JSON to bytes, and bytes to bytes and JSON.
 *
 * It knows no message: classes and their JSON converters are found by name in the packages given as arguments. A
 * question is a line of four words parted by tabs, and has one line for an answer:
 *
 *   json   NAME VERSION JSON    ->  the bytes that Kafka writes for the value, in base64
 *   bytes  NAME VERSION BASE64  ->  the bytes written again by Kafka, a tab, and the value as Kafka's JSON
 *
 * An answer that opens with "!" is an error. Answers are held back until an empty line asks for them, so that neither
 * side ever waits for the other with a full pipe.
 */
public final class MessageHarness {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final ObjectMapper MAPPER = new ObjectMapper();

    static {
        // Quotas are floating-point numbers, and Kafka carries NaN and infinities as well as any other.
        MAPPER.configure(JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS, true);
        MAPPER.configure(JsonGenerator.Feature.QUOTE_NON_NUMERIC_NUMBERS, false);
        MAPPER.configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
    }

    /** The three ways into one generated class. */
    private record Codec(MethodHandle fromBytes, MethodHandle fromJson, MethodHandle toJson) { }

    private final String[] packages;
    private final Map<String, Codec> codecs = new HashMap<>();

    private MessageHarness(String[] packages) {
        this.packages = packages;
    }

    public static void main(String[] packages) throws Exception {
        MessageHarness harness = new MessageHarness(packages);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII), 1 << 16);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        StringBuilder answers = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.isEmpty()) {
                out.print(answers);
                out.flush();
                answers.setLength(0);
            } else {
                answers.append(harness.answer(line)).append('\n');
            }
        }
    }

    private String answer(String line) {
        try {
            String[] words = line.split("\t", 4);
            Codec codec = codec(words[1]);
            short version = Short.parseShort(words[2]);
            return switch (words[0]) {
                case "json" -> encoded((Message) codec.fromJson.invoke(MAPPER.readTree(words[3]), version), version);
                case "bytes" -> reencoded(codec, version, Base64.getDecoder().decode(words[3]));
                default -> throw new IllegalArgumentException("no such question");
            };
        } catch (Throwable error) {
            return "!" + error.toString().replaceAll("[^ -~]+", " ");
        }
    }

    private static String reencoded(Codec codec, short version, byte[] given) throws Throwable {
        ByteBufferAccessor source = new ByteBufferAccessor(ByteBuffer.wrap(given));
        Message message = (Message) codec.fromBytes.invoke((Readable) source, version);
        if (source.remaining() != 0) {
            throw new IllegalStateException(source.remaining() + " bytes were not read");
        }
        JsonNode shown = (JsonNode) codec.toJson.invoke(message, version);
        return encoded(message, version) + "\t" + MAPPER.writeValueAsString(shown);
    }

    private static String encoded(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes fewer than announced");
        }
        return Base64.getEncoder().encodeToString(buffer.array());
    }

    private Codec codec(String name) throws ReflectiveOperationException {
        Codec known = codecs.get(name);
        if (known == null) {
            known = find(name);
            codecs.put(name, known);
        }
        return known;
    }

    private Codec find(String name) throws ReflectiveOperationException {
        for (String prefix : packages) {
            // Kafka appends "Data" to requests, responses and headers, and to nothing else.
            for (String className : new String[] {prefix + "." + name, prefix + "." + name + "Data"}) {
                try {
                    return codecOf(Class.forName(className));
                } catch (ClassNotFoundException absent) {
                    // the next candidate may be there
                }
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static Codec codecOf(Class<?> message) throws ReflectiveOperationException {
        Class<?> converter = Class.forName(message.getName() + "JsonConverter");
        return new Codec(
            LOOKUP.findConstructor(message, MethodType.methodType(void.class, Readable.class, short.class)),
            LOOKUP.findStatic(converter, "read", MethodType.methodType(message, JsonNode.class, short.class)),
            LOOKUP.findStatic(converter, "write", MethodType.methodType(JsonNode.class, message, short.class)));
    }
}
