package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A command in a process of its own, started with the options that the launcher gives it. */
public final class Child implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final BlockingQueue<Optional<String>> errLines = new LinkedBlockingQueue<>();
    private final CompletableFuture<String> err;

    private Child(Process process) {
        this.process = process;
        this.out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        this.err = CompletableFuture.supplyAsync(
                () -> text(process.getErrorStream(), errLines),
                reading -> Thread.ofPlatform().daemon().start(reading));
    }

    public static Child start(String... args) throws IOException {
        return start(Map.of(), args);
    }

    /** With these variables beside those of the tests. */
    public static Child start(Map<String, String> variables, String... args) throws IOException {
        return startBehind(List.of(), variables, args);
    }

    /** Behind words that run the rest of the command line in this process, such as {@code ip netns exec NAME}. */
    static Child startBehind(List<String> before, Map<String, String> variables, String... args) throws IOException {
        List<String> command = new ArrayList<>(before);
        // What started the tests may ignore signals, and a child inherits that.
        command.addAll(List.of("env", "--default-signal=INT,TERM,HUP"));
        command.addAll(program());
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().keySet().removeIf(name -> name.startsWith("HOLDFAST_") || name.endsWith("JAVA_OPTIONS"));
        builder.environment().put("HOLDFAST_JAVA_HOME", System.getProperty("java.home"));
        builder.environment().putAll(variables);
        return new Child(builder.start());
    }

    /** The classes of this build, or the launcher that {@code -Dholdfast.launcher=FILE} names. */
    private static List<String> program() {
        String launcher = System.getProperty("holdfast.launcher", "");
        return launcher.isEmpty()
                ? List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx256m",
                        "--enable-native-access=ALL-UNNAMED",
                        "-Dmsgpack.universal-buffer=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holdfast.class.getName())
                : List.of(launcher);
    }

    /** What a command that ends by itself told. */
    static CommandRun tells(String... args) throws IOException {
        try (Child child = start(args)) {
            return child.end();
        }
    }

    /** The next line on standard output. */
    public String line() throws IOException {
        return Optional.ofNullable(out.readLine())
                .orElseThrow(() -> new AssertionError("The child ended before it said anything; it told: " + end()));
    }

    /** Awaits a line with this word on standard error. */
    String errorLine(String word) throws InterruptedException {
        for (Optional<String> line = errLines.take(); line.isPresent(); line = errLines.take()) {
            if (line.get().contains(word)) {
                return line.get();
            }
        }
        throw new AssertionError("The child ended and never said " + word + ": " + end());
    }

    /** Asks it to stop as {@code kill} does, and awaits its end. */
    CommandRun stop() {
        assertThat(process.isAlive()).as("the child still runs").isTrue();
        // Process.destroy would close the streams as well, and with them what it has to say at its end.
        process.toHandle().destroy();
        return end();
    }

    /** Sends a signal such as {@code INT} and awaits its end. */
    CommandRun stop(String signal) throws IOException, InterruptedException {
        signal(signal);
        return end();
    }

    /** Awaits the end of a command that ends by itself. */
    public CommandRun ends() {
        return end();
    }

    /** Sends a signal such as {@code HUP}. */
    void signal(String signal) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Reads what it says up to so many lines with a word in them; false where it ended before that. */
    boolean says(String word, int times) throws IOException {
        for (int left = times; left > 0; ) {
            Optional<String> line = Optional.ofNullable(out.readLine());
            if (line.isEmpty()) {
                return false;
            }
            left -= line.get().contains(word) ? 1 : 0;
        }
        return true;
    }

    /** Whether it ends by itself within a time; reads nothing of what it says. */
    boolean endsWithin(Duration limit) throws InterruptedException {
        return process.waitFor(limit.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Sends a signal, unless it has just ended by itself, and awaits its end. */
    CommandRun strike(String signal) throws IOException, InterruptedException {
        int sent = new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid()))
                .start()
                .waitFor();
        assertThat(sent == 0 || !process.isAlive())
                .as("the signal %s was sent", signal)
                .isTrue();
        return end();
    }

    /** What it told until it ended. */
    CommandRun end() {
        try (BufferedReader rest = out) {
            String told = rest.readAllAsString();
            return new CommandRun(process.onExit().join().exitValue(), told, err.join());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String text(InputStream stream, BlockingQueue<Optional<String>> lines) {
        StringBuilder whole = new StringBuilder();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
            for (int line = 0, next = reader.read(); next >= 0; next = reader.read()) {
                whole.append((char) next);
                if (next == '\n') {
                    lines.add(Optional.of(whole.substring(line, whole.length() - 1)));
                    line = whole.length();
                }
            }
            return whole.toString();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            lines.add(Optional.empty());
        }
    }

    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
    }
}
