package io.holdfast.valkey;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** A real server of Valkey, or of Redis, on a free port of this machine, which keeps nothing on disk. */
public final class LocalValkey implements AutoCloseable {
    private static final String HOW =
            "No valkey-server and no redis-server on this machine, so that this is not tested; install one of them, or"
                    + " let VALKEY_SERVER name one, or run .ci/run with Python's pip there.";
    private static final int PATIENCE_SECONDS = 60;

    private final List<String> command;
    private final Path directory;
    private final int port;
    private Process process;

    private LocalValkey(List<String> command, Path directory, int port) {
        this.command = command;
        this.directory = directory;
        this.port = port;
        this.process = begin();
    }

    /** A server, once it answers; the test is skipped with a sentence where this machine has none. */
    public static LocalValkey start(Path directory, String... options) {
        return start(directory, freePort(), options);
    }

    public static LocalValkey start(Path directory, int port, String... options) {
        List<String> command = new ArrayList<>(List.of(program(), "--port", Integer.toString(port)));
        command.addAll(List.of("--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--databases", "4"));
        command.addAll(List.of(options));
        return awaited(new LocalValkey(command, made(directory), port));
    }

    /** One that watches servers, by the lines of its file. */
    public static LocalValkey sentinel(Path directory, String... lines) {
        int port = freePort();
        try {
            Path file = made(directory).resolve("sentinel.conf");
            Files.write(
                    file,
                    Stream.concat(Stream.of("port " + port, "bind 127.0.0.1"), Stream.of(lines))
                            .toList());
            return awaited(new LocalValkey(List.of(program(), file.toString(), "--sentinel"), directory, port));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public int port() {
        return port;
    }

    public String address() {
        return "valkey://127.0.0.1:" + port;
    }

    /** Stops it in the middle of whatever it does; its connections stay. */
    public void pause() {
        signal("-STOP");
    }

    public void resume() {
        signal("-CONT");
    }

    /** Ends it without a word. */
    public void kill() {
        process.destroyForcibly();
        await("the server's end", () -> !process.isAlive());
    }

    /** Starts it again on its port, with nothing in it. */
    public void restart() {
        process = begin();
        awaited(this);
    }

    public long pid() {
        return process.pid();
    }

    /** Sends one command, and returns the answer as text, an array as its parts in brackets. */
    public String ask(String... words) {
        try (Socket socket = connected()) {
            return ask(socket, words);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Sends commands of bytes in one go, written as ISO-8859-1, and waits for all answers. */
    public void askAll(List<String[]> commands) {
        try (Socket socket = connected()) {
            InputStream in = new BufferedInputStream(socket.getInputStream());
            Thread reader = Thread.startVirtualThread(() -> commands.forEach(command -> {
                try {
                    answer(in);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }));
            OutputStream out = new BufferedOutputStream(socket.getOutputStream(), 1 << 16);
            for (String[] words : commands) {
                write(out, words);
            }
            out.flush();
            reader.join();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        resume();
        kill();
    }

    public static int freePort() {
        // Below those that the system gives to connections, and with room for a cluster's second port above.
        for (int tried = 0; tried < 1_000; tried++) {
            int port = 20_000 + (int) (Math.random() * 12_000);
            try (ServerSocket socket = new ServerSocket()) {
                socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                return port;
            } catch (IOException e) {
                // Somebody has it.
            }
        }
        throw new IllegalStateException("no free port");
    }

    public static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("waited " + PATIENCE_SECONDS + " s in vain for " + what);
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static LocalValkey awaited(LocalValkey server) {
        await("a server's answer", () -> {
            if (!server.process.isAlive()) {
                throw new IllegalStateException("the server ended; see the log in " + server.directory);
            }
            try {
                return server.ask("PING").equals("PONG");
            } catch (UncheckedIOException e) {
                return false;
            }
        });
        return server;
    }

    private Process begin() {
        try {
            return new ProcessBuilder(command)
                    .directory(directory.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(
                            directory.resolve("server.log").toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void signal(String signal) {
        try {
            new ProcessBuilder("kill", signal, Long.toString(process.pid()))
                    .start()
                    .waitFor();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private Socket connected() throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(PATIENCE_SECONDS * 1_000);
        return socket;
    }

    private static String ask(Socket socket, String... words) throws IOException {
        OutputStream out = new BufferedOutputStream(socket.getOutputStream());
        write(out, words);
        out.flush();
        return answer(new BufferedInputStream(socket.getInputStream()));
    }

    private static void write(OutputStream out, String... words) throws IOException {
        out.write(("*" + words.length + "\r\n").getBytes(ISO_8859_1));
        for (String word : words) {
            byte[] bytes = word.getBytes(ISO_8859_1);
            out.write(("$" + bytes.length + "\r\n").getBytes(ISO_8859_1));
            out.write(bytes);
            out.write("\r\n".getBytes(ISO_8859_1));
        }
    }

    private static String answer(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            if (c < 0) {
                throw new IOException("the server hung up");
            }
            line.append((char) c);
        }
        String rest = line.substring(1).strip();
        switch (line.charAt(0)) {
            case '$' -> {
                int length = Integer.parseInt(rest);
                return length < 0 ? "" : new String(in.readNBytes(length + 2), 0, length, ISO_8859_1);
            }
            case '*' -> {
                List<String> parts = new ArrayList<>();
                for (int i = 0; i < Integer.parseInt(rest); i++) {
                    parts.add(answer(in));
                }
                return parts.toString();
            }
            default -> {
                return rest;
            }
        }
    }

    private static Path made(Path directory) {
        try {
            return Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String program() {
        Optional<String> found = named().or(() -> onPath("valkey-server"))
                .or(() -> onPath("redis-server"))
                .or(LocalValkey::installed);
        Assumptions.assumeTrue(found.isPresent(), HOW);
        return found.orElseThrow();
    }

    private static Optional<String> named() {
        return Optional.ofNullable(System.getenv("VALKEY_SERVER")).filter(name -> !name.isBlank());
    }

    private static Optional<String> onPath(String name) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .map(place -> Path.of(place, name))
                .filter(Files::isExecutable)
                .map(Path::toString)
                .findFirst();
    }

    /** What .ci/run has installed. */
    private static Optional<String> installed() {
        Path place = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."), ".holdfast", "valkey");
        if (!Files.isDirectory(place)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.walk(place)) {
            return files.filter(file -> file.endsWith("valkey-server") && Files.isExecutable(file))
                    .map(file -> file.toAbsolutePath().toString())
                    .findFirst();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
