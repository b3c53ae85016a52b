package io.holdfast.app;

import io.holdfast.sidecar.Follower;
import io.holdfast.sidecar.Sidecar;
import io.holdfast.sidecar.SidecarConfig;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the sidecar until it is told to stop, then releases what it holds. */
@Command(
        name = "sidecar",
        description = "The process beside the engine: follows its KV events, holds what is asked for, explains itself.",
        sortOptions = false)
final class SidecarCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--config", paramLabel = "FILE", description = "The configuration, YAML.")
    private @Nullable Path config;

    @Option(names = "--check-config", description = "Read the configuration, say whether it is sound, and stop.")
    private boolean checkOnly;

    @Option(names = "--print-example", description = "Print a commented configuration to start from, and stop.")
    private boolean printExample;

    @Option(
            names = "--show-text",
            description = "Show those who may act by what texts, messages and tokens holds were asked for.")
    private boolean showText;

    @Option(
            names = "--standby",
            description = "Wait while another sidecar has the state directory, and take over when that one has ended.")
    private boolean standby;

    SidecarCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        if (printExample) {
            spec.commandLine().getOut().print(SidecarConfig.example());
            spec.commandLine().getOut().flush();
            return ExitCode.OK;
        }
        Path file = Optional.ofNullable(config)
                .orElseThrow(() -> new CommandException(
                        "the sidecar needs --config FILE; 'holdfast sidecar --print-example' prints one to"
                                + " start from."));
        SidecarConfig read = SidecarConfig.load(file);
        if (checkOnly) {
            spec.commandLine().getOut().println(file + " is sound.");
            return ExitCode.OK;
        }
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        Vertx vertx = Sidecar.instrumented(registry);
        SidecarConfig shown = read.withShowText(showText);
        try (UntilStopped stop = new UntilStopped()) {
            Optional<Sidecar> started = standby
                    ? takeOver(new Follower(vertx, shown, registry), stop)
                    : Optional.of(Sidecar.start(vertx, shown, registry));
            if (started.isPresent()) {
                serve(started.get(), stop);
            }
        } finally {
            vertx.close().await();
        }
        return ExitCode.OK;
    }

    /** Absent when the process was told to stop before it could. */
    private Optional<Sidecar> takeOver(Follower follower, UntilStopped stop) throws InterruptedException {
        Optional<Sidecar> started = follower.tryToStart();
        if (started.isEmpty()) {
            say("holdfast sidecar stands by: another one has the state directory");
        }
        while (started.isEmpty() && !stop.await(Follower.LOOKS_EACH)) {
            started = follower.tryToStart();
        }
        return started;
    }

    private void serve(Sidecar started, UntilStopped stop) throws InterruptedException {
        try (Sidecar sidecar = started) {
            say("holdfast sidecar listens on " + sidecar.uri());
            stop.await();
            say("holdfast sidecar lets go of what it holds, and ends");
        }
    }

    private void say(String line) {
        spec.commandLine().getOut().println(line);
        spec.commandLine().getOut().flush();
    }
}
