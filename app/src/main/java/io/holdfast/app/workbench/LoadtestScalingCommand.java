package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Percents;
import io.holdfast.workbench.compare.Scaling;
import io.holdfast.workbench.compare.Scaling.Row;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** How throughput grows with the number of devices. */
@Command(
        name = "scaling",
        description =
                "How throughput grows with the number of devices: speed-up and efficiency against a reference row,"
                        + " a plot, and what the rows recommend by a rule that is printed.",
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
            description = "The setting that counts devices (default: ${DEFAULT-VALUE}).")
    private String over = "tp";

    @Option(
            names = "--reference",
            paramLabel = "N",
            defaultValue = "1",
            description = "Its number in the row that others are compared with (default: ${DEFAULT-VALUE}).")
    private double reference = 1;

    @Option(
            names = "--metric",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Shown beside throughput (default: ttft_p50, itl_p50, tpot_p50, e2e_p50 where they are).")
    private List<String> metrics = List.of();

    LoadtestScalingCommand() {}

    @Override
    public Integer call() {
        if (!(reference > 0)) {
            throw new CommandException("--reference is " + reference + "; write a number above 0.");
        }
        Scaling scaling = Scaling.of(ResultFiles.read(paths).files(), over, reference, metrics);
        PrintWriter out = spec.commandLine().getOut();
        SuiteTable.print(table(scaling), out);
        out.println();
        TerminalText terminal = TerminalText.plain(out);
        terminal.show(Document.titled("Scaling").add(plot(scaling)).build());
        out.println();
        scaling.recommendations().forEach(line -> terminal.paragraph("", line));
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
                line.add(row.value(metric).stream()
                        .mapToObj(value -> Figures.shown(metric, value))
                        .findFirst()
                        .orElse("-"));
                line.add(row.speedUp(metric).stream()
                        .mapToObj(times -> String.format(Locale.ROOT, "%.2fx", times))
                        .findFirst()
                        .orElse("-"));
            }
            line.add(row.efficiency(scaling.throughput()).stream()
                    .mapToObj(Percents::plain)
                    .findFirst()
                    .orElse("-"));
            line.add(Integer.toString(row.runs()));
            line.add(remark(scaling, row));
            table.add(line);
        }
        return table;
    }

    private static String remark(Scaling scaling, Row row) {
        if (row.value(scaling.throughput()).isEmpty()) {
            return row.failure().orElse("");
        }
        return row.isToAvoid(scaling.throughput())
                .map(avoid -> avoid ? "AVOID" : "")
                .orElse("undecided");
    }

    private static Plot plot(Scaling scaling) {
        Map<String, List<Point>> series = new LinkedHashMap<>();
        for (Row row : scaling.rows()) {
            row.value(scaling.throughput())
                    .ifPresent(value -> series.computeIfAbsent(row.series(), any -> new ArrayList<>())
                            .add(new Point(row.size(), value, Figures.shown(scaling.throughput(), value))));
        }
        return Plot.over(
                scaling.over(),
                scaling.throughput().title(),
                series.entrySet().stream()
                        .map(entry -> new Series(
                                entry.getKey().isEmpty() ? "reference" : entry.getKey(),
                                "",
                                Shape.MARKS,
                                entry.getValue()))
                        .toList());
    }
}
