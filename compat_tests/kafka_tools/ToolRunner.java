import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Exit;
import org.slf4j.LoggerFactory;

/**
 * Runs command line tools one after another in one JVM, each as if it had one of its own.
 *
 * Reads a line per tool: input, class and arguments, with tabs between them. Prints a line per tool: exit status, a tab,
 * and what the tool printed on both streams. Line feeds, tabs and backslashes are escaped both ways.
 */
public final class ToolRunner {
    /** Thrown where a tool ends the JVM. Some catch it and go on: what they say then was never said. */
    private static final class Ended extends RuntimeException {}

    /** What one tool leaves behind: its output until it ended, its status, and what it wants done at the end. */
    private static final class Run {
        final ByteArrayOutputStream printed = new ByteArrayOutputStream();
        final List<Runnable> hooks = new ArrayList<>();
        String output;
        int status;

        synchronized Ended end(int wanted) {
            if (output == null) {
                hooks.forEach(Runnable::run);
                output = printed.toString(StandardCharsets.UTF_8);
                status = wanted;
            }
            return new Ended();
        }
    }

    private static Run running;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        LoggerFactory.getLogger(ToolRunner.class); // it has something to say, but only once
        Exit.setExitProcedure((status, message) -> {
            throw running.end(status);
        });
        Exit.setHaltProcedure((status, message) -> {
            throw running.end(status);
        });
        Exit.setShutdownHookAdder((name, hook) -> running.hooks.add(hook));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = Arrays.stream(line.split("\t", -1)).map(ToolRunner::unescaped).toArray(String[]::new);
            running = new Run();
            run(words, new PrintStream(running.printed, true, StandardCharsets.UTF_8));
            out.println(running.status + "\t" + escaped(running.output));
            out.flush();
        }
        Runtime.getRuntime().halt(0); // some tools leave threads behind
    }

    private static void run(String[] words, PrintStream printed) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(printed);
        System.setErr(printed);
        System.setIn(new ByteArrayInputStream(words[0].getBytes(StandardCharsets.UTF_8)));
        try {
            Object arguments = Arrays.copyOfRange(words, 2, words.length);
            Class.forName(words[1]).getMethod("main", String[].class).invoke(null, arguments);
            running.end(0);
        } catch (InvocationTargetException error) {
            error.getCause().printStackTrace(printed);
            running.end(1);
        } catch (ReflectiveOperationException error) {
            error.printStackTrace(printed);
            running.end(-1);
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
    }

    private static String escaped(String text) {
        return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "");
    }

    private static String unescaped(String text) {
        StringBuilder found = new StringBuilder();
        for (int index = 0; index < text.length(); index++) {
            char letter = text.charAt(index);
            if (letter == '\\') {
                index++;
                letter = text.charAt(index) == 'n' ? '\n' : text.charAt(index) == 't' ? '\t' : text.charAt(index);
            }
            found.append(letter);
        }
        return found.toString();
    }
}
