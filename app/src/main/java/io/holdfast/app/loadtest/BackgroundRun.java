package io.holdfast.app.loadtest;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * The same command in a process of its own. Until the run has begun its words are passed on, so that what cannot work is
 * said where it was asked for; from then on they are in a file.
 *
 * <p>The process has a session of its own where the system has setsid, so neither Ctrl-C at this terminal nor its end reaches
 * it; a signal to it is like Ctrl-C in the foreground.
 *
 * @param out where it is told which process that is
 * @param beside where its words go until then
 * @param forProgram whether a program reads that
 */
record BackgroundRun(PrintWriter out, PrintWriter beside, Path journal, boolean forProgram) {
    private static final String OPTION = "--background";
    private static final List<Path> SETSID = List.of(Path.of("/usr/bin/setsid"), Path.of("/bin/setsid"));
    private static final long POLL_MILLIS = 50;

    int begin(boolean named, BooleanSupplier begun) {
        Path words = Path.of(journal + ".out");
        try {
            Process process = new ProcessBuilder(command(named))
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectErrorStream(true)
                    .redirectOutput(words.toFile())
                    .start();
            return follow(process, words, begun);
        } catch (IOException e) {
            throw new CommandException("The run cannot begin in a process of its own (" + e.getMessage()
                    + "); leave --background out, and run it under nohup.");
        }
    }

    private int follow(Process process, Path words, BooleanSupplier begun) throws IOException {
        try (InputStream said = Files.newInputStream(words)) {
            while (true) {
                boolean ended = process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS);
                boolean runs = begun.getAsBoolean();
                beside.print(new String(said.readAllBytes(), StandardCharsets.UTF_8));
                beside.flush();
                if (ended) {
                    return process.exitValue();
                }
                if (runs) {
                    tell(process.pid(), words);
                    return ExitCode.OK;
                }
            }
        } catch (InterruptedException e) {
            process.destroy();
            Thread.currentThread().interrupt();
            return ExitCode.STOPPED;
        }
    }

    private void tell(long pid, Path words) {
        String status = "holdfast loadtest status " + StatusReport.quoted(journal.toString());
        if (forProgram) {
            out.println(JsonNodeFactory.instance
                    .objectNode()
                    .put("event", "background")
                    .put("pid", pid)
                    .put("journal", journal.toString())
                    .put("output", words.toString())
                    .put("status", status + " --json"));
        } else {
            out.println("It goes on in the background as process " + pid + "; what it says is in " + words + ".");
            out.println("The journal is " + journal + ".");
            out.println("How far it is:  " + status);
            out.println("Stop it:        kill " + pid);
        }
        out.flush();
    }

    /** As this process was started, and in the foreground. */
    private List<String> command(boolean named) {
        ProcessHandle.Info self = ProcessHandle.current().info();
        Optional<String[]> arguments = arguments().or(self::arguments);
        if (self.command().isEmpty() || arguments.isEmpty()) {
            throw new CommandException(
                    "This system does not report how this process was started, so another one cannot be started"
                            + " in the same way; leave --background out, and run it under nohup.");
        }
        List<String> command = new ArrayList<>();
        SETSID.stream()
                .filter(Files::isExecutable)
                .findFirst()
                .map(Path::toString)
                .ifPresent(command::add);
        command.add(self.command().get());
        Arrays.stream(arguments.get()).filter(word -> !word.equals(OPTION)).forEach(command::add);
        if (!named) {
            command.addAll(List.of("--journal", journal.toString()));
        }
        return command;
    }

    /** What the system says in full where it has such a file; elsewhere a long command line may be cut. */
    private static Optional<String[]> arguments() {
        Path file = Path.of("/proc/self/cmdline");
        if (!Files.isReadable(file)) {
            return Optional.empty();
        }
        try {
            String[] words = Files.readString(file).split("\0", -1);
            return Optional.of(Arrays.copyOfRange(words, 1, words.length - 1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
