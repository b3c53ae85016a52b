package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.compare.Scaling;
import io.holdfast.workbench.compare.Scaling.Row;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import java.util.function.DoubleFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Tells how throughput grows with the number of devices. */
@Command(
        name = "scaling",
        description = "Shows how throughput grows with the number of devices: speed-up and efficiency relative to a"
                + " reference row, a plot, and a recommendation by a printed rule.",
        sortOptions = false)
public final class LoadtestScalingCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", arity = "1..*", description = "Result files, as for 'loadtest compare'.")
    private List<Path> paths = List.of();

    @Option(
            names = "--over",
            paramLabel = "SETTING",
            defaultValue = "tp",
            description = "Setting with the number of devices (default: ${DEFAULT-VALUE}).")
    private String over = "tp";

    @Option(
            names = "--reference",
            paramLabel = "N",
            defaultValue = "1",
            description = "Number of devices in the reference row (default: ${DEFAULT-VALUE}).")
    private double reference = 1;

    @Option(
            names = "--metric",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Metrics shown beside throughput (default: those of ttft_p50, itl_p50, tpot_p50,"
                    + " e2e_p50 that the files contain).")
    private List<String> metrics = List.of();

    LoadtestScalingCommand() {}

    @Override
    public Integer call() {
        if (!(reference > 0)) {
            throw new CommandException("--reference is " + reference + "; write a number above 0.");
        }
        Scaling scaling = Scaling.of(ResultFiles.read(paths).files(), over, reference, metrics);
        Document.Builder text = Document.titled("Scaling")
                .add(Document.Table.of("sizes", table(scaling)))
                .add(scaling.plot());
        scaling.recommendations().forEach(text::lead);
        TerminalText.plain(spec.commandLine().getOut()).show(text.build());
        return ExitCode.OK;
    }

    private static List<List<String>> table(Scaling scaling) {
        List<List<String>> table = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of(""));
        scaling.metrics().forEach(metric -> head.addAll(List.of(metric.title(), "speed-up")));
        head.addAll(List.of("efficiency", "runs", ""));
        table.add(head);
        for (Row row : scaling.rows()) {
            List<String> line = new ArrayList<>(List.of(row.label(scaling.over())));
            for (Metric metric : scaling.metrics()) {
                line.add(shown(row.value(metric), value -> Figures.shown(metric, value)));
                line.add(shown(row.speedUp(metric), times -> String.format(Locale.ROOT, "%.2fx", times)));
            }
            line.add(shown(row.efficiency(scaling.throughput()), Percents::plain));
            line.add(Integer.toString(row.runs()));
            line.add(remark(scaling, row));
            table.add(line);
        }
        return table;
    }

    private static String shown(OptionalDouble value, DoubleFunction<String> as) {
        return value.isPresent() ? as.apply(value.getAsDouble()) : "-";
    }

    private static String remark(Scaling scaling, Row row) {
        if (row.value(scaling.throughput()).isEmpty()) {
            return row.failure().orElse("");
        }
        return row.isToAvoid(scaling.throughput())
                .map(avoid -> avoid ? "AVOID" : "")
                .orElse("undecided");
    }
}
