package io.holdfast.workbench.bed;

import io.holdfast.loadtest.LoadTestException;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * The commands of this machine that a test bed asks.
 *
 * @param searchPath the folders that they are looked for in, as PATH has them
 */
public record MachineTools(String searchPath) {
    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final int MOST_SAID = 1 << 20;

    /** Returns the tools on this process's PATH. */
    public static MachineTools ofThisProcess() {
        return new MachineTools(Optional.ofNullable(System.getenv("PATH")).orElse(""));
    }

    /** Returns the path of a command; absent where it is nowhere. */
    public Optional<Path> find(String name) {
        for (String folder : searchPath.split(Pattern.quote(File.pathSeparator), -1)) {
            try {
                Path file = Path.of(folder).resolve(name);
                if (!folder.isEmpty() && Files.isRegularFile(file) && Files.isExecutable(file)) {
                    return Optional.of(file);
                }
            } catch (InvalidPathException e) {
                // A folder that cannot be one has no commands.
            }
        }
        return Optional.empty();
    }

    /**
     * Output of a command.
     *
     * @param exitCode -1 where it was ended for taking too long
     */
    record Answer(int exitCode, String text) {
        boolean isOk() {
            return exitCode == 0;
        }

        /** Why it is none. */
        String problem() {
            String line = text.strip().lines().findFirst().orElse("it said nothing");
            return exitCode < 0 ? "it was not over after " + LIMIT.toSeconds() + " s" : line;
        }
    }

    /** Runs a command to its end, or until it has taken too long. */
    Answer ask(Path command, String... arguments) {
        List<String> line = new ArrayList<>(List.of(command.toString()));
        line.addAll(List.of(arguments));
        try {
            Path said = Files.createTempFile("holdfast-bed-", ".txt");
            try {
                Process process = new ProcessBuilder(line)
                        .redirectErrorStream(true)
                        .redirectOutput(said.toFile())
                        .start();
                process.getOutputStream().close();
                boolean over = process.waitFor(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
                if (!over) {
                    process.descendants().forEach(ProcessHandle::destroyForcibly);
                    process.destroyForcibly();
                }
                byte[] bytes = Files.readAllBytes(said);
                return new Answer(
                        over ? process.exitValue() : -1,
                        new String(bytes, 0, Math.min(bytes.length, MOST_SAID), StandardCharsets.UTF_8));
            } finally {
                Files.deleteIfExists(said);
            }
        } catch (IOException e) {
            return new Answer(-1, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted while it asked " + command + ".", e);
        }
    }
}
