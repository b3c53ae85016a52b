package io.holdfast.app.demo;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.demo.DemoOutcome.Judgement;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.SidecarHolder;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Workload;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The demo: two scenarios with a verdict and one without, on real sockets.
 *
 * <p>Nothing here knows what will come out. Each scenario is an ordinary load test against an ordinary engine and sidecar;
 * the demo compares what it found with what is there.
 */
public final class Demo {
    /** What one pass prefills: the longest request, so that which of them meet in a pass is not left to chance. */
    public static final int CHUNK_TOKENS = 528;

    /** A busy machine makes the demo longer and seldom ends it. */
    private static final int REPEATS = 30;

    /** The longest request with its answer, and what the engine keeps for itself. */
    private static final int CONTEXT_TOKENS = 536;

    /** The readiness check of a server life sends one real request, which counts for the warming. */
    private static final int READINESS_REQUESTS = 1;

    /** What runs when a reading is taken counts as used by others until a reading shows less, so it is one request. */
    private static final int CONCURRENCY = 1;

    private static final Duration LEASE = Duration.ofMinutes(10);

    private final List<DemoScenario> scenarios;
    private final DemoSettings settings;
    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean json;
    private final Optional<DemoFolder> kept;
    private final RunClock clock;

    /**
     * The demo of these scenarios.
     *
     * @param kept what takes the journals and the document; without it nothing is left
     */
    Demo(
            List<DemoScenario> scenarios,
            DemoSettings settings,
            PrintWriter out,
            PrintWriter err,
            boolean json,
            Optional<DemoFolder> kept,
            RunClock clock) {
        this.scenarios = List.copyOf(scenarios);
        this.settings = settings;
        this.out = out;
        this.err = err;
        this.json = json;
        this.kept = kept;
        this.clock = clock;
    }

    /** Runs all scenarios; the exit code that they come to. */
    int run() {
        // With --json the story still goes to whoever watches, on the error stream.
        boolean live = !json && TerminalText.onTerminal();
        DemoPrinter printer = new DemoPrinter(new TerminalText(json ? err : out, live, clock::nanos), settings);
        List<DemoOutcome> outcomes = new ArrayList<>();
        int code;
        Vertx vertx = OwnVertx.start();
        try {
            printer.opening();
            for (DemoScenario scenario : scenarios) {
                printer.begin(scenario);
                DemoOutcome outcome = new DemoOutcome(scenario, test(vertx, scenario, printer), settings.warming());
                printer.end(outcome);
                outcomes.add(outcome);
            }
            printer.beginAutomatic();
            AutomaticScenario automatic = AutomaticScenario.run(vertx, clock, settings.seed(), printer);
            printer.automatic(automatic);
            code = exitCode(outcomes, automatic);
            printer.closing(outcomes, code);
            String document = DemoJson.document(settings, outcomes, automatic, code == ExitCode.OK);
            // Printed first: where the folder takes nothing any more, the minute was not for nothing.
            if (json) {
                out.println(document);
                out.flush();
            }
            kept.ifPresent(folder -> folder.write(document));
        } finally {
            vertx.close().await();
        }
        return code;
    }

    /** What is wrong whatever the machine does goes before what the machine was too busy for. */
    private static int exitCode(List<DemoOutcome> outcomes, AutomaticScenario automatic) {
        List<Judgement> judgements =
                outcomes.stream().map(DemoOutcome::judgement).distinct().toList();
        if (!automatic.asExpected() || judgements.contains(Judgement.UNEXPECTED)) {
            return ExitCode.CHECK_FAILED;
        }
        return judgements.equals(List.of(Judgement.EXPECTED)) ? ExitCode.OK : ExitCode.INCONCLUSIVE;
    }

    private Result test(Vertx vertx, DemoScenario scenario, Progress progress) {
        Workload workload = IdlePrefixFlood.workload(settings.seed(), scenario.shape());
        LoadTestPlan test = LoadTestPlan.defaults().toBuilder()
                .rounds(settings.rounds())
                .seed(settings.seed())
                .concurrency(CONCURRENCY)
                .burnIn(settings.burnIn())
                .rehearsal(true)
                .statistic(settings.statistic())
                .holdSlot(scenario.holdSlot())
                .slotTolerance(scenario.slotTolerance())
                .repeatPairs(REPEATS)
                .build();
        try (DemoServers servers = DemoServers.start(vertx, engine(scenario), false);
                HttpEngine engine = new HttpEngine(vertx, servers, HttpSettings.defaults(), clock);
                SidecarHolder holder = new SidecarHolder(servers.sidecar(), DemoServers.ENGINE, LEASE, clock)) {
            RunEnvironment environment = new RunEnvironment(engine, holder, clock);
            if (kept.isPresent()) {
                return LoadTestRun.run(environment, workload, test, kept.get().journal(scenario), progress);
            }
            Path folder = Files.createTempDirectory("holdfast-demo-");
            Path journal = folder.resolve("journal.jsonl");
            try {
                return LoadTestRun.run(environment, workload, test, journal, progress);
            } finally {
                Files.deleteIfExists(journal);
                Files.deleteIfExists(folder);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private EmulatorSettings engine(DemoScenario scenario) {
        List<Fault> faults = new ArrayList<>(settings.faults());
        if (settings.warming()) {
            int legs = settings.burnIn() ? 2 : 1;
            faults.add(new GpuFault.Warming(READINESS_REQUESTS + legs * scenario.requestsOfALeg()));
        }
        return scenario.engine().withFaults(faults);
    }

    /**
     * A quick engine, so that thirty server lives take less than a minute, and slow enough to be heard over a busy machine.
     * Its context leaves room beside it: what may be pinned is what the longest request leaves.
     */
    public static EmulatorSettings emulated(int capacityTokens) {
        return EmulatorSettings.defaults()
                .withSizes(capacityTokens, 16, CONTEXT_TOKENS)
                .withFirstTokenMicros(4_000)
                .withPrefillMicrosPerToken(24)
                .withDecodeMillis(1)
                .withVariant(SglangSettings.Variant.PIN_GPU)
                .withSglang(sglang -> sglang.withChunkedPrefillTokens(CHUNK_TOKENS));
    }
}
