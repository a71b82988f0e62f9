import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs the scenarios of the families it is told, against one broker, and prints what each learned.
 *
 * Arguments: bootstrap servers, bootstrap controllers, the prefix of topics, then names of classes that have a `ALL`.
 * Prints, a line each: `scenario NAME`, `answer TEXT`, `failed TEXT`, and at last `done`. A line `restart` asks whoever
 * reads to restart the broker and to send a line back.
 */
public final class Scenarios {
    interface Scenario {
        void run(World world) throws Exception;
    }

    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        World.Restarts restarts = () -> {
            OUT.println("restart");
            if (in.readLine() == null) {
                throw new IllegalStateException("nobody restarts the broker");
            }
        };
        Map<String, Scenario> scenarios = new LinkedHashMap<>();
        for (int index = 3; index < arguments.length; index++) {
            scenarios.putAll(familyOf(arguments[index]));
        }
        try (World world = new World(arguments[0], arguments[1], arguments[2], restarts)) {
            scenarios.forEach((name, scenario) -> run(name, scenario, world));
        }
        OUT.println("done");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Scenario> familyOf(String className) throws ReflectiveOperationException {
        return (Map<String, Scenario>) Class.forName(className).getDeclaredField("ALL").get(null);
    }

    private static void run(String name, Scenario scenario, World world) {
        OUT.println("scenario " + name);
        try {
            scenario.run(world);
        } catch (Exception | AssertionError error) {
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            OUT.println("failed " + onOneLine(trace.toString()));
        }
        world.takeAnswers().forEach(answer -> OUT.println("answer " + onOneLine(answer)));
    }

    private static String onOneLine(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "");
    }
}
