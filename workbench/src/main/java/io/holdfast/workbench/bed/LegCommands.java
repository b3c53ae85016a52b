package io.holdfast.workbench.bed;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.run.AroundLegs;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Commands of the user's before and after each leg, outside of anything that is timed. Each is told the leg by its
 * environment.
 *
 * @param log takes what they write
 * @param limit the most that one may take
 */
public record LegCommands(Optional<String> before, Optional<String> after, Path log, Duration limit)
        implements AroundLegs {
    @Override
    public void begins(PlannedLeg leg) {
        before.ifPresent(command -> run("--before-leg", command, leg));
    }

    @Override
    public void ended(PlannedLeg leg) {
        after.ifPresent(command -> run("--after-leg", command, leg));
    }

    private void run(String option, String command, PlannedLeg leg) {
        try {
            ProcessBuilder builder = new ProcessBuilder("/bin/sh", "-c", command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
            builder.environment().put("HOLDFAST_LEG", leg.label());
            builder.environment().put("HOLDFAST_LIFE", Integer.toString(leg.life()));
            builder.environment().put("HOLDFAST_POSITION", Integer.toString(leg.position()));
            builder.environment()
                    .put(
                            "HOLDFAST_ARM",
                            Arm.of(leg.order(), leg.position()).name().toLowerCase(Locale.ROOT));
            Process process = builder.start();
            process.getOutputStream().close();
            if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
                throw failed(option, leg, "was not over after " + limit.toSeconds() + " s");
            }
            if (process.exitValue() != 0) {
                throw failed(option, leg, "ended with exit code " + process.exitValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was stopped in the command of " + option + ".", e);
        }
    }

    private LoadTestException failed(String option, PlannedLeg leg, String how) {
        return new LoadTestException(
                "The command of " + option + " " + how + " at " + leg.label() + "; " + log + " has what it wrote.");
    }
}
