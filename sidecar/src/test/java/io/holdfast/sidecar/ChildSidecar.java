package io.holdfast.sidecar;

import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;

/** A sidecar in a process of its own, which can be killed. */
public final class ChildSidecar implements AutoCloseable {
    private static final String SERVES = "serves ";
    private static final String HEAP = "heap ";

    private final Process process;
    private final BufferedReader out;
    private final URI uri;

    private ChildSidecar(Process process, BufferedReader out, URI uri) {
        this.process = process;
        this.out = out;
        this.uri = uri;
    }

    /** The child: says where it serves, then answers each line that it is sent with its heap, until it is killed. */
    public static void main(String[] args) throws IOException {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Sidecar sidecar = Sidecar.start(Sidecar.instrumented(registry), SidecarConfig.load(Path.of(args[0])), registry);
        System.out.println(SERVES + sidecar.uri());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.gc();
            Runtime runtime = Runtime.getRuntime();
            System.out.println(HEAP + (runtime.totalMemory() - runtime.freeMemory()));
        }
    }

    public static ChildSidecar start(Path config) throws IOException {
        return start(config, Map.of(), Optional.empty());
    }

    /** With more in its environment; what it says to its error stream, its log included, goes to a file where there is one. */
    static ChildSidecar start(Path config, Map<String, String> environment, Optional<Path> errors) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx256m",
                        "-Dmsgpack.universal-buffer=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ChildSidecar.class.getName(),
                        config.toString())
                .redirectError(errors.map(Path::toFile)
                        .map(ProcessBuilder.Redirect::to)
                        .orElse(ProcessBuilder.Redirect.INHERIT));
        builder.environment().putAll(environment);
        Process process = builder.start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        try {
            return new ChildSidecar(process, out, URI.create(said(out, SERVES)));
        } catch (AssertionError e) {
            process.destroyForcibly();
            throw e;
        }
    }

    private static String said(BufferedReader out, String beginning) throws IOException {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith(beginning)) {
                return line.substring(beginning.length());
            }
        }
        throw new AssertionError("The child ended before it said " + beginning);
    }

    /** Bytes of its heap that are in use after a collection. */
    long heap() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        return Long.parseLong(said(out, HEAP));
    }

    public URI uri() {
        return uri;
    }

    /** As {@code kill -STOP} does; returns when the process runs no more. */
    public void suspend() {
        signal("STOP");
        Eventually.see("the process is stopped", this::state, state -> state == 'T');
    }

    /** As {@code kill -CONT} does. */
    public void goOn() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            int code = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid()))
                    .inheritIO()
                    .start()
                    .waitFor();
            if (code != 0) {
                throw new AssertionError("kill -" + name + " answered " + code);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** As the system shows it behind the name of the program. */
    private char state() {
        try {
            String line = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
            return line.charAt(line.lastIndexOf(')') + 2);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it, and answers whatever it still said. */
    String rest() throws IOException {
        process.toHandle().destroy();
        StringBuilder said = new StringBuilder();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            said.append(line).append('\n');
        }
        return said.toString();
    }

    /** As {@code kill -9} does; returns when the process is gone. */
    void kill() {
        process.destroyForcibly();
        process.onExit().join();
    }

    @Override
    public void close() {
        kill();
    }
}
