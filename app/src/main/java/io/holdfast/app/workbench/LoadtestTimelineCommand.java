package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.workbench.bed.Timeline;
import java.io.PrintWriter;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The requests of one leg over time. */
@Command(
        name = "timeline",
        description = "Shows the requests of one leg over time as text: when each was due, was sent and had its first"
                + " and last token, and how many were under way.",
        sortOptions = false)
public final class LoadtestTimelineCommand implements Callable<Integer> {
    private static final int LEAST_WIDTH = 20;
    private static final int MOST_WIDTH = 1_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private LegOfJournal leg = new LegOfJournal();

    @Option(names = "--cycle", paramLabel = "N", description = "Show only the flood and the probes of this cycle.")
    private @Nullable Integer cycle;

    @Option(
            names = "--width",
            paramLabel = "N",
            defaultValue = "60",
            description = "Columns of the time's axis (default: ${DEFAULT-VALUE}).")
    private int width;

    LoadtestTimelineCommand() {}

    @Override
    public Integer call() {
        OptionValues.between("--width", width, LEAST_WIDTH, MOST_WIDTH);
        LegOfJournal.Shown record = leg.shown();
        List<RequestRecord> shown = record.requests().stream()
                .filter(request -> cycle == null || request.cycle() == cycle)
                .toList();
        if (shown.isEmpty()) {
            throw new CommandException("There is no request to show in " + record.label()
                    + (cycle == null ? "." : "; leave --cycle out, or name another one."));
        }
        PrintWriter out = spec.commandLine().getOut();
        out.println(record.label());
        new Timeline(shown, width).lines().forEach(out::println);
        out.flush();
        return ExitCode.OK;
    }
}
