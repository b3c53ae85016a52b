package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.loadtest.run.AroundLegs;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.session.LoadTestSession.Bed;
import io.holdfast.workbench.bed.EnvironmentRecord;
import io.holdfast.workbench.bed.LegCommands;
import io.holdfast.workbench.bed.LegSampler;
import io.holdfast.workbench.bed.MachineTools;
import io.holdfast.workbench.bed.SampleSource;
import io.holdfast.workbench.bed.ServerProcess;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options for samples beside the legs of a load test, and for the machine that it is measured on. */
public final class BedOptions {
    private static final Duration MOST_BETWEEN = Duration.ofMinutes(1);

    private enum What {
        GPU,
        PROCESS,
        KVCACHED
    }

    @Option(
            names = "--sample",
            paramLabel = "WHAT",
            split = ",",
            description = "Sample during each leg, into a file with the journal's name and .samples.jsonl: gpu"
                    + " (nvidia-smi), process (CPU and memory of the server on this machine), kvcached (its segments).")
    private List<What> what = List.of();

    @Option(
            names = "--sample-every",
            paramLabel = "TIME",
            defaultValue = "1s",
            description = "Time between two samples (default: ${DEFAULT-VALUE}).")
    private String every = "1s";

    @Option(
            names = "--shared-memory",
            paramLabel = "DIR",
            defaultValue = "/dev/shm",
            description = "Folder of kvcached's segments (default: ${DEFAULT-VALUE}).")
    private Path sharedMemory = Path.of("/dev/shm");

    @Option(
            names = "--tools",
            paramLabel = "DIR",
            description = "Folder with nvidia-smi (default: PATH is" + " searched).")
    private @Nullable Path tools;

    @Option(
            names = "--before-leg",
            paramLabel = "COMMAND",
            description = "Command to run before each leg, outside the measured time; HOLDFAST_LEG, _LIFE,"
                    + " _POSITION and _ARM name the leg.")
    private @Nullable String before;

    @Option(names = "--after-leg", paramLabel = "COMMAND", description = "Command to run after each leg, likewise.")
    private @Nullable String after;

    @Option(
            names = "--leg-command-seconds",
            paramLabel = "N",
            defaultValue = "600",
            description = "Longest time that one of these commands may take (default: ${DEFAULT-VALUE}).")
    private long commandSeconds;

    BedOptions() {}

    void check() {
        period();
        OptionValues.between(
                "--leg-command-seconds", commandSeconds, 1, Duration.ofDays(1).toSeconds());
    }

    private Duration period() {
        Duration period = TimeSpan.parse("--sample-every", every, Duration.ofMillis(1));
        if (period.compareTo(MOST_BETWEEN) > 0) {
            throw new CommandException("--sample-every is '" + every + "'; write at most 1m.");
        }
        return period;
    }

    /** Returns samples beside the legs of the run with that journal, and the machine that it is measured on. */
    Bed of(URI server, Path journal, LoadtestBench bench) {
        return new Bed(around(server, journal, bench), () -> measuredOn(server));
    }

    private AroundLegs around(URI server, Path journal, LoadtestBench bench) {
        Path log = Path.of(journal + ".leg-commands.log");
        AroundLegs commands = before == null && after == null
                ? AroundLegs.none()
                : new LegCommands(
                        Optional.ofNullable(before),
                        Optional.ofNullable(after),
                        log,
                        Duration.ofSeconds(commandSeconds));
        if (what.isEmpty()) {
            return commands;
        }
        Optional<Path> nvidia = machine().find("nvidia-smi");
        if (what.contains(What.GPU) && nvidia.isEmpty()) {
            bench.tell("There is no nvidia-smi, so no samples of GPUs.");
        }
        return commands.with(new LegSampler(
                LegSampler.beside(journal),
                () -> sources(server, nvidia, bench.clock()),
                bench.clock(),
                Thread.ofPlatform().name("holdfast-sampler-", 0).daemon().factory()));
    }

    private List<SampleSource> sources(URI server, Optional<Path> nvidia, RunClock clock) {
        Duration period = period();
        List<SampleSource> sources = new ArrayList<>();
        if (what.contains(What.GPU)) {
            nvidia.ifPresent(tool -> sources.add(SampleSource.gpus(tool, period)));
        }
        if (what.contains(What.PROCESS)) {
            ServerProcess.of(server).ifPresent(process -> sources.add(SampleSource.process(process, clock, period)));
        }
        if (what.contains(What.KVCACHED)) {
            sources.add(SampleSource.segments(sharedMemory, period));
        }
        return sources;
    }

    private MachineTools machine() {
        return Optional.ofNullable(tools)
                .map(folder -> new MachineTools(folder.toString()))
                .orElseGet(MachineTools::ofThisProcess);
    }

    /** Looks at what a run is measured on, once its server is there. */
    public static Map<String, String> measuredOn(URI server) {
        return EnvironmentRecord.of(MachineTools.ofThisProcess(), server).values();
    }
}
