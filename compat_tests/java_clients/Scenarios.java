import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the scenarios of the families it is told, against one broker, and prints what each learned.
 *
 * Arguments: bootstrap servers, bootstrap controllers, the prefix of topics, then names of classes that have a `ALL`.
 * The scenarios of those after a word `together` run beside each other: they mostly wait. Prints, a line each:
 * `scenario NAME`, `took MILLISECONDS`, `answer TEXT`, `failed TEXT`, and at last `done`. A line `restart` asks whoever
 * reads to restart the broker and to send a line back.
 */
public final class Scenarios {
    interface Scenario {
        void run(World world) throws Exception;
    }

    private static final int TOGETHER_MAX = 8;
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        World.Restarts restarts = () -> {
            OUT.println("restart");
            if (in.readLine() == null) {
                throw new IllegalStateException("nobody restarts the broker");
            }
        };
        Map<String, Scenario> alone = new LinkedHashMap<>();
        Map<String, Scenario> together = new LinkedHashMap<>();
        Map<String, Scenario> scenarios = alone;
        for (int index = 3; index < arguments.length; index++) {
            if (arguments[index].equals("together")) {
                scenarios = together;
            } else {
                scenarios.putAll(familyOf(arguments[index]));
            }
        }
        try (World world = new World(arguments[0], arguments[1], arguments[2], restarts)) {
            alone.forEach((name, scenario) -> run(name, scenario, world).forEach(OUT::println));
            runTogether(together, world);
        }
        OUT.println("done");
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Scenario> familyOf(String className) throws ReflectiveOperationException {
        return (Map<String, Scenario>) Class.forName(className).getDeclaredField("ALL").get(null);
    }

    private static void runTogether(Map<String, Scenario> scenarios, World world) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(TOGETHER_MAX);
        List<Future<List<String>>> results = new ArrayList<>();
        scenarios.forEach((name, scenario) -> results.add(pool.submit(() -> run(name, scenario, world.beside()))));
        pool.shutdown();
        for (Future<List<String>> result : results) {
            result.get().forEach(OUT::println);
        }
    }

    /** The lines that tell of a scenario. One that runs alone may print in between, to have the broker restarted. */
    private static List<String> run(String name, Scenario scenario, World world) {
        List<String> lines = new ArrayList<>(List.of("scenario " + name));
        long start = System.nanoTime();
        try {
            scenario.run(world);
        } catch (Exception | AssertionError error) {
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            lines.add("failed " + onOneLine(trace.toString()));
        }
        lines.add("took " + (System.nanoTime() - start) / 1_000_000);
        world.takeAnswers().forEach(answer -> lines.add("answer " + onOneLine(answer)));
        return lines;
    }

    private static String onOneLine(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "");
    }
}
