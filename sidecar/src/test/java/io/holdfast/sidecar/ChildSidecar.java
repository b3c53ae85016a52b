package io.holdfast.sidecar;

import io.vertx.core.Vertx;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** A sidecar in a process of its own, which can be killed. */
final class ChildSidecar implements AutoCloseable {
    private static final String SERVES = "serves ";

    private final Process process;
    private final URI uri;

    private ChildSidecar(Process process, URI uri) {
        this.process = process;
        this.uri = uri;
    }

    /** The child: says where it serves, and then waits to be killed. */
    public static void main(String[] args) throws InterruptedException {
        Sidecar sidecar = Sidecar.start(Vertx.vertx(), SidecarConfig.load(Path.of(args[0])));
        System.out.println(SERVES + sidecar.uri());
        new CountDownLatch(1).await();
    }

    static ChildSidecar start(Path config) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-Xmx256m",
                        "-Dmsgpack.universal-buffer=true",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ChildSidecar.class.getName(),
                        config.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.startsWith(SERVES)) {
                return new ChildSidecar(process, URI.create(line.substring(SERVES.length())));
            }
        }
        process.destroyForcibly();
        throw new AssertionError("The child ended before it served.");
    }

    URI uri() {
        return uri;
    }

    /** As {@code kill -9} does; returns when the process is gone. */
    @Override
    public void close() {
        process.destroyForcibly();
        process.onExit().join();
    }
}
