package io.holdfast.app.sidecar;

import io.holdfast.app.cli.TerminalText;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The terminal of this process for as long as a whole screen of it is used: its other screen without cursor, keys as they are
 * pressed, by {@code stty}. However the process ends, short of being killed, all is as it was.
 */
final class TopTerminal implements AutoCloseable {
    private static final Path TTY = Path.of("/dev/tty");
    private static final String BEGIN = "\u001b[?1049h\u001b[?25l";
    private static final String END = "\u001b[?25h\u001b[?1049l";
    private static final int STTY_SECONDS = 5;

    private final PrintWriter out;
    private final String before;
    private final InputStream keys;
    private final AtomicBoolean restored = new AtomicBoolean();
    private final Thread hook = new Thread(this::restore, "holdfast-terminal");

    /** What a person pressed. */
    enum Pressed {
        NONE,
        UP,
        DOWN,
        PAGE_UP,
        PAGE_DOWN,
        QUIT
    }

    /** How large it is. */
    record Size(int rows, int columns) {}

    private TopTerminal(PrintWriter out, String before, InputStream keys) {
        this.out = out;
        this.before = before;
        this.keys = keys;
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Absent where there is none, or one that cannot be told what is needed. */
    static Optional<TopTerminal> open(PrintWriter out) {
        String kind = Optional.ofNullable(System.getenv("TERM")).orElse("dumb");
        if (kind.equals("dumb") || !TerminalText.onTerminal() || !Files.isReadable(TTY)) {
            return Optional.empty();
        }
        try {
            Optional<String> before = stty("-g");
            if (before.isEmpty()) {
                return Optional.empty();
            }
            TopTerminal terminal = new TopTerminal(out, before.get().strip(), new FileInputStream(TTY.toFile()));
            // Ctrl-C stays a signal; a read waits a tenth of a second at most.
            boolean raw = stty("-icanon", "-echo", "min", "0", "time", "1").isPresent();
            if (!raw) {
                terminal.close();
                return Optional.empty();
            }
            terminal.print(BEGIN);
            return Optional.of(terminal);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    Size size() {
        String[] told = stty("size").orElse("").strip().split(" ", -1);
        return told.length == 2 && told[0].matches("[1-9][0-9]{0,3}") && told[1].matches("[1-9][0-9]{0,3}")
                ? new Size(Integer.parseInt(told[0]), Integer.parseInt(told[1]))
                : new Size(24, 80);
    }

    /** Writes the screen over. */
    void draw(List<String> lines) {
        StringBuilder screen = new StringBuilder("\u001b[H");
        for (int i = 0; i < lines.size(); i++) {
            // A line that ends in the last column must not be cleared from there on.
            screen.append(i == 0 ? "" : "\r\n").append("\u001b[2K").append(lines.get(i));
        }
        print(screen.append("\u001b[J").toString());
    }

    /** The next key, or none after a tenth of a second. */
    Pressed key() throws IOException {
        byte[] pressed = new byte[16];
        int count = keys.read(pressed);
        if (count <= 0) {
            return Pressed.NONE;
        }
        return switch (new String(pressed, 0, count, StandardCharsets.ISO_8859_1)) {
            case "q", "Q", "\u0003", "\u0004" -> Pressed.QUIT;
            case "\u001b[A", "\u001bOA", "k" -> Pressed.UP;
            case "\u001b[B", "\u001bOB", "j" -> Pressed.DOWN;
            case "\u001b[5~" -> Pressed.PAGE_UP;
            case "\u001b[6~", " " -> Pressed.PAGE_DOWN;
            default -> Pressed.NONE;
        };
    }

    private void print(String text) {
        out.print(text);
        out.flush();
    }

    private void restore() {
        if (restored.compareAndSet(false, true)) {
            print(END);
            Optional<String> _ = stty(before);
        }
    }

    /** What stty printed; absent where it failed. */
    private static Optional<String> stty(String... arguments) {
        List<String> command = new ArrayList<>(List.of("stty"));
        command.addAll(List.of(arguments));
        try {
            Process process = new ProcessBuilder(command)
                    .redirectInput(TTY.toFile())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return process.waitFor(STTY_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0
                    ? Optional.of(told)
                    : Optional.empty();
        } catch (IOException e) {
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        restore();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
            keys.close();
        } catch (IllegalStateException ending) {
            // The process ends already, and the hook has restored it.
            restored.set(true);
        } catch (IOException e) {
            // Nothing more is read.
            restored.set(true);
        }
    }
}
