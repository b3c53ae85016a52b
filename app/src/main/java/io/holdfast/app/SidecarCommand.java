package io.holdfast.app;

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
        try (UntilStopped stop = new UntilStopped();
                Sidecar sidecar = Sidecar.start(vertx, read.withShowText(showText), registry)) {
            spec.commandLine().getOut().println("holdfast sidecar listens on " + sidecar.uri());
            stop.await();
            spec.commandLine().getOut().println("holdfast sidecar lets go of what it holds, and ends");
        } finally {
            vertx.close().await();
        }
        return ExitCode.OK;
    }
}
