package io.holdfast.app.demo;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.rules.fault.Fault;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.IntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Everything in one go, with nothing else needed. */
@Command(
        name = "demo",
        description = {
            "Runs emulator, sidecar and load test in one go: does holding a prefix help, or only the order of the"
                    + " runs?",
            "Exits 0 when the load test finds what is there: a REAL effect under memory pressure, NO_EXPOSURE without;"
                    + " 3 when this machine is too busy to tell, 1 when it finds anything else."
        },
        sortOptions = false)
public final class DemoCommand implements Callable<Integer> {
    private final IntFunction<List<DemoScenario>> scenarios;
    private final RunClock clock;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "42",
            description = "Seed of prompts and of the order of the legs (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "4",
            description = "Rounds of one A/A, one normal and one reversed pair; below 4 nothing can be concluded"
                    + " (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(
            names = "--cycles",
            paramLabel = "N",
            defaultValue = "3",
            description = "Floods and probes of a leg (default: ${DEFAULT-VALUE}).")
    private int cycles;

    @Option(
            names = "--warming",
            negatable = true,
            defaultValue = "true",
            fallbackValue = "true",
            description = "Slow the engine until the first measured leg of each life is over, which is an order"
                    + " bias (default: yes).")
    private boolean warming;

    @Option(
            names = "--burn-in",
            negatable = true,
            defaultValue = "true",
            fallbackValue = "true",
            description = "Start each server life with a leg that does not count (default: yes).")
    private boolean burnIn;

    @Option(
            names = "--judge",
            paramLabel = "WHAT",
            defaultValue = "PROBE_P50",
            description = "PROBE_P50, the median of a leg's probes, or WHOLE_MEAN, the mean of all its requests"
                    + " (default: ${DEFAULT-VALUE}).")
    private Statistic statistic = Statistic.PROBE_P50;

    @Option(
            names = "--fault",
            paramLabel = "NAME[=ARGS]",
            description = "Also let the engine misbehave: pin-ignored or cold-first-wave[=REQUESTS,EXTRA_MS]; may be"
                    + " repeated.")
    private List<String> faults = List.of();

    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "New folder for a journal of each scenario, which 'loadtest analyze' judges again, and"
                    + " demo.json (default: nothing is kept).")
    private Optional<Path> out = Optional.empty();

    DemoCommand() {
        this(cycles -> List.of(DemoScenario.pressure(cycles), DemoScenario.ample(cycles)), RunClock.system());
    }

    /**
     * Creates a demo of other scenarios than the usual ones.
     *
     * @param scenarios by the number of cycles
     * @param clock measures, and waits out the slots of legs
     */
    public DemoCommand(IntFunction<List<DemoScenario>> scenarios, RunClock clock) {
        this.scenarios = scenarios;
        this.clock = clock;
    }

    @Override
    public Integer call() {
        DemoSettings settings = settings();
        Demo demo = new Demo(
                scenarios.apply(cycles),
                settings,
                spec.commandLine().getOut(),
                spec.commandLine().getErr(),
                json,
                out.map(DemoFolder::create),
                clock);
        return demo.run();
    }

    private DemoSettings settings() {
        if (rounds < 1 || rounds > 100 || cycles < 1 || cycles > 100) {
            throw new CommandException("--rounds and --cycles are 1 to 100, not " + rounds + " and " + cycles + ".");
        }
        try {
            List<Fault> parsed = faults.stream().map(Fault::parse).toList();
            return new DemoSettings(seed, rounds, cycles, warming, burnIn, statistic, parsed);
        } catch (IllegalArgumentException e) {
            throw new CommandException(e);
        }
    }
}
