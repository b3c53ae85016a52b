package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.LoadtestBench.Work;
import io.holdfast.loadtest.analysis.RunStatus;
import io.holdfast.loadtest.journal.JournalLines;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** A whole ab at each level of one parameter. */
@Command(
        name = "sweep",
        description = {
            "Runs 'ab' at each level of a parameter. Gives a verdict for each level and one for all: whether the"
                    + " effect grows with the pressure on the cache, and vanishes without pressure.",
            "The journals of all levels and sweep.json go to one folder. To continue a sweep that was stopped or"
                    + " killed, add --resume to the same command line."
        },
        footer = {
            "",
            "Examples:",
            "  holdfast loadtest sweep --engine http://127.0.0.1:30000 --hold session \\",
            "      --over flood-tokens=256,512,1024,2048"
        },
        sortOptions = false)
public final class LoadtestSweepCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--over",
            paramLabel = "NAME=V,V,...",
            required = true,
            description = "The levels: of concurrency, flood-requests, flood-tokens, prefix-tokens or rate (requests of"
                    + " a flood a second), or of any {NAME} in --server-command, such as mem-fraction or capacity."
                    + " Repeat it for parameters that change together. Equal levels are replicates.")
    private List<String> over = List.of();

    @Option(
            names = "--placebo",
            paramLabel = "VALUE",
            description = "Level at which memory is ample, so that an effect there has another cause (default: the"
                    + " levels whose pressure is at most 0.5).")
    private @Nullable String placebo;

    @Option(
            names = "--out",
            paramLabel = "FOLDER",
            description = "Folder for sweep.json and a journal of each level (default: sweep-TIME in this folder).")
    private @Nullable Path out;

    @Option(names = "--resume", description = "Continue the sweep in --out; finished levels stay.")
    private boolean resume;

    @Mixin
    private AbOptions options = new AbOptions();

    @Option(names = "--json", description = "One JSON document on standard output; progress goes to the error stream.")
    private boolean json;

    LoadtestSweepCommand() {}

    @Override
    public Integer call() {
        Path folder = folder();
        SweepPlan asked = plan();
        List<AskedTest> levels = new ArrayList<>();
        for (SweepPlan.Level level : asked.levels()) {
            levels.add(options.test(level.values()));
        }
        SweepPlan plan = asked;
        if (resume) {
            plan = SweepPlan.read(folder);
            plan.refuseOther(asked);
        } else {
            asked.write(folder);
        }
        OutputOptions output = OutputOptions.of(json);
        PrintWriter told = output.beside(spec.commandLine());
        SweepPlan its = plan;
        Work work = bench -> run(folder, its, levels, bench, output, told);
        return LoadtestBench.untilStopped(spec.commandLine(), told, work, () -> {
            told.println("Go on with the same command and --resume --out " + StatusReport.quoted(folder.toString()));
            return ExitCode.STOPPED;
        });
    }

    private int run(
            Path folder,
            SweepPlan plan,
            List<AskedTest> levels,
            LoadtestBench bench,
            OutputOptions output,
            PrintWriter told) {
        for (int i = 0; i < levels.size(); i++) {
            SweepPlan.Level level = plan.levels().get(i);
            Path journal = folder.resolve(level.journal());
            String which = "Level " + (i + 1) + " of " + levels.size() + ", " + level.name();
            if (RunStatus.isFinished(journal)) {
                bench.tell(which + ": finished before.");
            } else {
                bench.tell(which + (Files.exists(journal) ? ", resumed:" : ":"));
                levels.get(i).run(journal, bench, output.progress(spec.commandLine(), bench.clock()), told);
                bench.tell("That is by its own pairs; what it is beside the other levels is said at the end.");
            }
        }
        Sweep sweep = Sweep.of(folder);
        SweepReport.print(sweep, json, spec.commandLine().getOut());
        return SweepReport.code(sweep);
    }

    private Path folder() {
        if (resume && out == null) {
            throw new CommandException("--resume goes on with a sweep in a folder; name that by --out.");
        }
        return Optional.ofNullable(out).orElseGet(() -> {
            String journal = JournalOptions.file("sweep", RunClock.system()).toString();
            return Path.of(journal.substring(0, journal.lastIndexOf('.')));
        });
    }

    private SweepPlan plan() {
        Map<String, List<String>> values = new LinkedHashMap<>();
        for (String text : over) {
            int sign = text.indexOf('=');
            List<String> levels = sign < 1
                    ? List.of()
                    : Stream.of(text.substring(sign + 1).split(",", -1))
                            .map(String::strip)
                            .toList();
            if (levels.size() < 2 || levels.stream().anyMatch(String::isEmpty)) {
                throw new CommandException(
                        "--over is '" + text + "'; write a name and at least two levels, as concurrency=4,8,16.");
            }
            if (values.put(text.substring(0, sign), levels) != null) {
                throw new CommandException("--over has '" + text.substring(0, sign) + "' twice; write it once.");
            }
        }
        return new SweepPlan(
                RunClock.system().now().toString(),
                SweepPlan.levels(values, Optional.ofNullable(placebo)),
                JournalLines.texts(options.test().plan()));
    }
}
