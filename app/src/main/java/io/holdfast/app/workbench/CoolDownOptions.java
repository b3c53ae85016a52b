package io.holdfast.app.workbench;

import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.CoolDown;
import java.io.PrintWriter;
import java.time.Duration;
import picocli.CommandLine.Option;

/** Whether legs wait until the server is as fast as it is under sustained load. */
final class CoolDownOptions {
    @Option(
            names = "--cooldown-gate",
            description = "Before each leg wait until the server is as fast as it is under sustained load (default: no"
                    + " waiting).")
    private boolean gate;

    @Option(
            names = "--cooldown-tolerance",
            paramLabel = "PART",
            defaultValue = "0.20",
            description = "How far below that it may be (default: ${DEFAULT-VALUE}).")
    private double tolerance;

    @Option(
            names = "--cooldown-cap",
            paramLabel = "TIME",
            defaultValue = "240s",
            description = "The most that one wait may take (default: ${DEFAULT-VALUE}).")
    private String cap = "";

    @Option(
            names = "--cooldown-budget",
            paramLabel = "TIME",
            defaultValue = "1h",
            description = "The most that all waits together may take (default: ${DEFAULT-VALUE}).")
    private String budget = "";

    CoolDownOptions() {}

    /** @param legs that are still to be run */
    Suite.Between gate(int legs, RunClock clock, PrintWriter beside) {
        return gate
                ? CoolDown.before(
                        new CoolDown.Settings(
                                tolerance,
                                TimeSpan.parse("--cooldown-cap", cap, Duration.ofSeconds(1)),
                                TimeSpan.parse("--cooldown-budget", budget, Duration.ofSeconds(1))),
                        legs,
                        clock,
                        sentence -> {
                            beside.println(sentence);
                            beside.flush();
                        })
                : Suite.Between.nothing();
    }
}
