import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs command line tools one after another in one JVM, each as if it had one of its own.
 *
 * Reads a line per tool: input, class and arguments, with tabs between them. Prints a line per tool: exit status, a tab,
 * and what the tool printed on both streams. Line feeds, tabs and backslashes are escaped both ways.
 */
public final class ToolRunner {
    /** A tool that asked for the end of the JVM. */
    private static final class Ended extends RuntimeException {
        final int status;

        Ended(int status) {
            super("exit " + status);
            this.status = status;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        Exit.setHaltProcedure((status, message) -> {
            throw new Ended(status);
        });
        Exit.setShutdownHookAdder((name, hook) -> {});
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = Arrays.stream(line.split("\t", -1)).map(ToolRunner::unescaped).toArray(String[]::new);
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            int status = run(words, new PrintStream(printed, true, StandardCharsets.UTF_8));
            out.println(status + "\t" + escaped(printed.toString(StandardCharsets.UTF_8)));
            out.flush();
        }
        Runtime.getRuntime().halt(0); // some tools leave threads behind
    }

    private static int run(String[] words, PrintStream printed) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        System.setOut(printed);
        System.setErr(printed);
        System.setIn(new ByteArrayInputStream(words[0].getBytes(StandardCharsets.UTF_8)));
        try {
            Object arguments = Arrays.copyOfRange(words, 2, words.length);
            Class.forName(words[1]).getMethod("main", String[].class).invoke(null, arguments);
            return 0;
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof Ended ended) {
                return ended.status;
            }
            error.getCause().printStackTrace(printed);
            return 1;
        } catch (ReflectiveOperationException error) {
            error.printStackTrace(printed);
            return -1;
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
