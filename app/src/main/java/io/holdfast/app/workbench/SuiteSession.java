package io.holdfast.app.workbench;

import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.bed.BatchUse;
import io.holdfast.workbench.bed.EnvironmentRecord;
import io.holdfast.workbench.bed.MachineTools;
import io.holdfast.workbench.bed.SampleSource;
import io.holdfast.workbench.bed.SegmentUse;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.Lengths;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.Pace;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;
import java.util.function.Consumer;
import picocli.CommandLine;

/** One run of a suite at a server that answers: its plan, its folder, its legs and its results. */
final class SuiteSession {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final ThreadFactory DAEMONS = Thread.ofPlatform().daemon().factory();

    private final SuiteOptions options;
    private final SuiteJob job;
    private final CommandLine command;
    private final Path place;
    private final Instant begun;
    private final HttpEngine engine;
    private final SuiteOptions.Api api;
    private final LoadtestBench bench;
    private final Pace.Limits limits;
    /** Facts that the server reported before anything was sent; at the end it may be gone. */
    private final EngineFacts facts;

    private final Map<String, String> environment = new LinkedHashMap<>();
    /** The way in which legs find an empty cache, which is tried when it is asked for first. */
    private Optional<ColdLegs> cold = Optional.empty();

    SuiteSession(
            SuiteOptions options,
            SuiteJob job,
            CommandLine command,
            Path place,
            Instant begun,
            HttpEngine engine,
            SuiteOptions.Api api,
            LoadtestBench bench,
            Pace.Limits limits) {
        this.options = options;
        this.job = job;
        this.command = command;
        this.place = place;
        this.begun = begun;
        this.engine = engine;
        this.api = api;
        this.bench = bench;
        this.limits = limits;
        this.facts = engine.facts();
        environment.put("server", facts.text());
        environment.put("startedBy", engine.name());
        environment.putAll(engine.client());
        engine.flags().forEach((name, value) -> environment.put("flags." + name, value));
    }

    /**
     * Prints the plan, or runs it and has the job conclude it.
     *
     * @param starts told how the server is to be started before it begins another life
     * @param warmUps requests of each life
     */
    int run(Consumer<StartedServer.Variant> starts, int warmUps) {
        SuiteJob.Planned planned = job.plan(new SuiteJob.Seat(
                engine,
                bench.clock(),
                () -> cold().empties(),
                starts,
                warmUps,
                legs -> options.output()
                        .resumed()
                        .map(folder -> LoadFolder.open(folder).missing().size())
                        .orElse(legs.size()),
                bench::tell));
        Lengths.refuseTooLong(planned.legs(), facts);
        if (options.output().isPlanOnly()) {
            return SuitePlan.print(planned.legs(), engine, bench.clock(), command.getOut());
        }
        Map<String, String> settings = new LinkedHashMap<>(planned.settings());
        settings.put("api", api.name());
        LoadFolder folder = options.output().folder(place, Suite.plan(job.name(), settings, planned.legs()));
        send(planned, folder);
        return job.finish(new SuiteJob.Over(folder, results(folder, planned), facts, begun, command.getOut()));
    }

    private ColdLegs cold() {
        ColdLegs legs = cold.orElseGet(() -> options.cold(engine));
        cold = Optional.of(legs);
        return legs;
    }

    private void send(SuiteJob.Planned planned, LoadFolder folder) {
        RunClock clock = bench.clock();
        cold().beside(() -> SegmentUse.begin(SampleSource.segments(SHARED_MEMORY, EVERY), DAEMONS, clock)
                .and(BatchUse.begin(engine::metrics, DAEMONS, clock))
                .and(LegPulse.begin(engine::answered, bench::tell, DAEMONS, clock)));
        if (api.sendsTokenIds() && cold().sendsAsDrawn()) {
            folder.writePrefixes(planned.legs());
        }
        try (LoadFolder.Claim _ = folder.claim()) {
            bench.tell(cold().text());
            bench.warm(engine);
            new Suite(
                            planned.legs(),
                            planned.servers(),
                            Pace.of(planned.between(), planned.legs(), folder, limits, clock, bench::tell),
                            cold(),
                            clock,
                            new SuiteProgress(bench.beside()))
                    .run(folder);
        }
    }

    private ResultFile results(LoadFolder folder, SuiteJob.Planned planned) {
        EnvironmentRecord.of(MachineTools.ofThisProcess(), options.server())
                .values()
                .forEach(environment::putIfAbsent);
        String source = command.getCommandSpec().root().version()[0];
        return new ResultFile(
                job.name(),
                environment.getOrDefault("serves", environment.getOrDefault("model", "unknown")),
                begun.toString(),
                environment,
                folder.legs().stream()
                        .map(leg -> planned.shown().apply(leg, options.result(leg, source)))
                        .toList());
    }
}
