// Reads keys, one a line in hex; prints for each its murmur2 and its partition among seven, as Kafka's producer has them.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

public class Murmur2 {
    public static void main(String[] arguments) throws Exception {
        BufferedReader keys = new BufferedReader(new InputStreamReader(System.in));
        StringBuilder answers = new StringBuilder();
        for (String line = keys.readLine(); line != null; line = keys.readLine()) {
            byte[] key = HexFormat.of().parseHex(line);
            answers.append(Utils.murmur2(key)).append(' ').append(BuiltInPartitioner.partitionForKey(key, 7)).append('\n');
        }
        System.out.print(answers);
        System.out.flush();
    }
}
