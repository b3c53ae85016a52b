package io.holdfast.app;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalInt;

/**
 * Servers for load tests that start one for each leg: a shell as the process that is started and ended, and an emulator in
 * this process at its port for as long as that shell is there. A JVM for each of them would take seconds of the processor.
 */
final class ShellEngines implements AutoCloseable {
    private static final String END = "end";

    private final Vertx vertx = Vertx.vertx();
    private final Path calls;
    private final Thread listener;

    /** Takes the calls of the shells by a pipe in the folder. */
    ShellEngines(Path folder) throws IOException, InterruptedException {
        this.calls = folder.resolve("calls");
        int made = new ProcessBuilder("mkfifo", calls.toString()).start().waitFor();
        if (made != 0) {
            throw new IOException("No pipe could be made at " + calls + ".");
        }
        this.listener = Thread.ofPlatform().daemon().name("shell-engines").start(this::listen);
    }

    /** Returns the words of a shell that begin its engine; they end at once, and the shell has to stay. */
    String begin(String capacityTokens) {
        return "echo $$ {port} " + capacityTokens + " > " + calls;
    }

    /** Returns a whole command for the shell. */
    String command(String capacityTokens) {
        return begin(capacityTokens) + "; exec tail -f /dev/null";
    }

    private void listen() {
        try {
            while (true) {
                // Opened anew for each shell: a pipe ends when nobody writes to it.
                for (String line : Files.readAllLines(calls)) {
                    if (line.equals(END)) {
                        return;
                    }
                    String[] words = line.split(" ", -1);
                    serve(Long.parseLong(words[0]), Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void serve(long shell, int port, int capacityTokens) {
        EmulatorSettings settings = QuickEngine.PLAIN
                .withCapacityTokens(capacityTokens)
                .withEndpoints(new Endpoints(Endpoints.LOOPBACK, port, 0, OptionalInt.empty()));
        Emulator engine = Emulator.start(vertx, settings);
        ProcessHandle.of(shell)
                .map(ShellEngines::startedHere)
                .ifPresentOrElse(process -> process.onExit().thenRun(engine::close), engine::close);
    }

    /** The end of a child of this process is told at once, that of its children only now and then. */
    private static ProcessHandle startedHere(ProcessHandle process) {
        return process.parent()
                .filter(parent -> !parent.equals(ProcessHandle.current()))
                .map(ShellEngines::startedHere)
                .orElse(process);
    }

    @Override
    public void close() throws IOException {
        Files.writeString(calls, END + "\n");
        vertx.close().await();
    }
}
