package io.holdfast.loadtest.arm;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.workload.LoadRequest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Switches by two commands of the user's, which the shell runs.
 *
 * <p>{@code on} runs in the hold step of a pinned leg, {@code off} at its end, in both of these steps of a baseline
 * leg, and once before all legs; so {@code off} has to bear being run again. A command that fails ends the run: whether
 * the switch stands is then not known, and no leg after it would be what it is called.
 */
final class ArmCommand implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(ArmCommand.class);
    private static final int MOST_SAID = 300;

    private final String on;
    private final String off;
    private final boolean claimsHold;
    private final Duration limit;
    private boolean mayBeOn;

    /** @param limit the most that a command may take */
    ArmCommand(String on, String off, boolean claimsHold, Duration limit) {
        this.on = on;
        this.off = off;
        this.claimsHold = claimsHold;
        this.limit = limit;
    }

    @Override
    public String name() {
        return "the command " + on + " (off: " + off + ")";
    }

    @Override
    public boolean claimsHold() {
        return claimsHold;
    }

    @Override
    public void prepare() {
        run("off", off, "[]");
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                "A kill -9 leaves what was switched on as it is; a resumed run begins with the command for off.");
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        mayBeOn = true;
        LoadRequest prefix = prefixes.probed();
        String said = run("on", on, Arrays.toString(prefix.tokens()));
        // Nobody knows how many blocks this hold has; the command claims by its exit code that it is one.
        return claimsHold
                ? HoldReceipt.held("", 1, 1, prefix.length(), "the command says so: " + said)
                : HoldReceipt.switched(said);
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        return HoldReceipt.sham(
                run("off", off, Arrays.toString(prefixes.probed().tokens())));
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        String said = run("off", off, "[]");
        mayBeOn = false;
        return step.kind() == HoldReceipt.Kind.SHAM ? ReleaseReceipt.sham(said) : ReleaseReceipt.released(said);
    }

    @Override
    public void close() {
        if (mayBeOn) {
            mayBeOn = false;
            try {
                run("off", off, "[]");
            } catch (LoadTestException e) {
                LOG.warn("What was switched on may still be on: {}", e.getMessage());
            }
        }
    }

    /** Runs a command to its end and returns the last line that it wrote. */
    private String run(String arm, String command, String prefix) {
        try {
            Path output = Files.createTempFile("holdfast-arm-", ".txt");
            Path tokens = Files.writeString(Files.createTempFile("holdfast-arm-", ".json"), prefix);
            try {
                ProcessBuilder builder = new ProcessBuilder("/bin/sh", "-c", command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile());
                builder.environment().put("HOLDFAST_ARM", arm);
                builder.environment().put("HOLDFAST_PREFIX", tokens.toString());
                Process process = builder.start();
                process.getOutputStream().close();
                boolean ended = awaitEnd(process);
                String said = lastLine(output);
                if (!ended) {
                    process.descendants().forEach(ProcessHandle::destroyForcibly);
                    process.destroyForcibly();
                    throw failed(arm, "was not over after " + limit.toSeconds() + " s", said);
                }
                if (process.exitValue() != 0) {
                    throw failed(arm, "ended with exit code " + process.exitValue(), said);
                }
                return said;
            } finally {
                Files.deleteIfExists(output);
                Files.deleteIfExists(tokens);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private boolean awaitEnd(Process process) {
        try {
            return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted while it waited for an arm's command.", e);
        }
    }

    private static LoadTestException failed(String arm, String how, String said) {
        return new LoadTestException("The arm's command for " + arm + " " + how
                + (said.isEmpty() ? "" : " (" + said + ")") + "; mend it and run again.");
    }

    private static String lastLine(Path output) throws IOException {
        String text = new String(Files.readAllBytes(output), StandardCharsets.UTF_8).strip();
        String line = text.substring(text.lastIndexOf('\n') + 1).strip();
        return line.length() > MOST_SAID ? line.substring(0, MOST_SAID) + "..." : line;
    }
}
