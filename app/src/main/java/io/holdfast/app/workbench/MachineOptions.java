package io.holdfast.app.workbench;

import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.loadtest.client.Calibration;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.bed.BedInspection;
import io.holdfast.workbench.bed.MachineTools;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options for a look at the machine that a load test would run on, and at the answers that its client gets. */
public final class MachineOptions {
    /** Names of these options, none of which says anything about an engine alone. */
    public static final List<String> NAMES =
            List.of("--route", "--model", "--streams", "--shared-memory", "--require-idle-gpu", "--tools");

    private static final int MOST_STREAMS = 4_096;

    /** Time between two tokens of the client's own server: a pace that inference servers have. */
    private static final Duration PACE = Duration.ofMillis(20);

    private static final int CALIBRATION_PROMPT = 32;
    private static final int CALIBRATION_TOKENS = 16;

    @Mixin
    private RouteOptions route = new RouteOptions();

    @Option(
            names = "--streams",
            paramLabel = "N",
            defaultValue = "64",
            description = "Number of concurrent requests that the load will have (default: ${DEFAULT-VALUE}).")
    private int streams;

    @Option(
            names = "--shared-memory",
            paramLabel = "DIR",
            defaultValue = "/dev/shm",
            description = "Mount point of shared memory (default: ${DEFAULT-VALUE}).")
    private Path sharedMemory = Path.of("/dev/shm");

    @Option(names = "--require-idle-gpu", description = "Exit with 1 if another process computes on a GPU.")
    private boolean requireIdleGpu;

    @Option(names = "--tools", paramLabel = "DIR", description = "Folder with nvidia-smi (default: PATH is searched).")
    private @Nullable Path tools;

    public MachineOptions() {}

    /** Refuses values that no load has. */
    public void check() {
        OptionValues.between("--streams", streams, 1, MOST_STREAMS);
    }

    /**
     * Looks, for some seconds.
     *
     * @param headers sent with each request to the server
     * @param answers whether there is an engine to send two small requests to
     */
    public BedInspection.Found look(URI server, Map<String, String> headers, boolean answers) {
        RunClock clock = RunClock.system();
        MachineTools machine = Optional.ofNullable(tools)
                .map(folder -> new MachineTools(folder.toString()))
                .orElseGet(MachineTools::ofThisProcess);
        HttpSettings http = HttpSettings.defaults().withHeaders(headers);
        Vertx vertx = OwnVertx.start();
        try {
            Calibration calibration = new Calibration(
                    vertx,
                    http.withRoute(CompletionRoute.OPENAI_COMPLETIONS),
                    clock::nanos,
                    new Calibration.Plan(1, CALIBRATION_PROMPT, CALIBRATION_TOKENS, PACE));
            BedInspection inspection =
                    new BedInspection(new BedInspection.Wanted(server, streams, sharedMemory, requireIdleGpu), machine);
            if (!answers) {
                return inspection.inspect(
                        Optional.empty(), Map.of(), calibration::againstItself, clock::nanos, new SplittableRandom());
            }
            HttpSettings asked = route.on(server, http, clock);
            try (HttpEngine answering = new HttpEngine(vertx, new ExistingServer(server), asked, clock)) {
                return inspection.inspect(
                        Optional.of(answering),
                        answering.flags(),
                        calibration::againstItself,
                        clock::nanos,
                        new SplittableRandom());
            }
        } finally {
            vertx.close().await();
        }
    }
}
