package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.TerminalRenderer;
import io.holdfast.workbench.compare.Comparison.Named;
import io.holdfast.workbench.compare.Figures;
import io.holdfast.workbench.compare.Matrix;
import io.holdfast.workbench.compare.Matrix.Cell;
import io.holdfast.workbench.compare.Matrix.Layout;
import io.holdfast.workbench.compare.Percents;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** One metric of many results in one table. */
@Command(
        name = "matrix",
        description = "Prints one metric of many results as a table: workloads or other settings by models, batches or"
                + " lengths. Each cell compares variants or files. A winner is named only where its"
                + " repetitions show it.",
        sortOptions = false)
public final class LoadtestMatrixCommand implements Callable<Integer> {
    /** Content of a cell. */
    enum Show {
        /** The last against the first. */
        change,
        /** Who is ahead, and by how much. */
        lead
    }

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", arity = "1..*", description = "Result files, as for 'loadtest compare'.")
    private List<Path> paths = List.of();

    @Option(
            names = "--metric",
            paramLabel = "NAME",
            defaultValue = "throughput",
            description = "Metric to compare, as itl_p50 (default: ${DEFAULT-VALUE}).")
    private String metric = "throughput";

    @Option(
            names = "--phase",
            paramLabel = "NAME,NAME",
            split = ",",
            description = "Two phases of a benchmark log, each treated as a file (default: its last two).")
    private List<String> phases = List.of();

    @Option(
            names = "--variant",
            paramLabel = "SETTING",
            description =
                    "The setting whose values are compared; 'file' compares the files (default: the setting 'variant'"
                            + " where there is one, else the files).")
    private Optional<String> variant = Optional.empty();

    @Option(
            names = "--rows",
            paramLabel = "SETTING,SETTING",
            hideParamSyntax = true,
            split = ",",
            description = "Settings of the rows, such as 'workload' (default: those in which the results differ).")
    private List<String> rows = List.of();

    @Option(
            names = "--columns",
            paramLabel = "SETTING,SETTING",
            hideParamSyntax = true,
            split = ",",
            description = "Settings of the columns (default: the last one in which the results differ).")
    private List<String> columns = List.of();

    @Option(
            names = "--show",
            paramLabel = "WHAT",
            description =
                    "change: the last variant against the first. lead: who is ahead (default: change of files, lead"
                            + " of variants).")
    private Optional<Show> show = Optional.empty();

    @Option(names = "--markdown", description = "A Markdown table.")
    private boolean markdown;

    LoadtestMatrixCommand() {}

    @Override
    public Integer call() {
        ResultFiles read = ResultFiles.read(paths, phases);
        if (paths.size() == 1 && phases.isEmpty() && read.files().size() > 2) {
            int all = read.files().size();
            read = new ResultFiles(read.files().subList(all - 2, all), read.notes());
        }
        List<Named> files = read.files();
        Matrix matrix = Matrix.of(files, new Layout(metric, variant, rows, columns));
        boolean ofFiles = variant.map(Matrix.FILES::equals)
                .orElseGet(() -> matrix.variants().stream()
                        .allMatch(each ->
                                files.stream().anyMatch(file -> file.name().equals(each))));
        Show what = show.orElse(ofFiles ? Show.change : Show.lead);
        if (what == Show.change && matrix.variants().size() != 2) {
            throw new CommandException("A change is that of two variants, and there are "
                    + matrix.variants().size() + " (" + String.join(", ", matrix.variants())
                    + "); give two files, or write --show lead.");
        }
        List<List<String>> table = table(matrix, what);
        String title = matrix.metric().title() + ", "
                + (what == Show.change
                        ? matrix.variants().getLast() + " against "
                                + matrix.variants().getFirst()
                        : "who is ahead of " + String.join(", ", matrix.variants()));
        PrintWriter out = spec.commandLine().getOut();
        if (markdown) {
            Document text = Document.titled(title)
                    .heading(3, title)
                    .add(Document.Table.of(title, table))
                    .items(statements(matrix, what))
                    .build();
            out.println(MarkdownRenderer.text(text).stripTrailing());
        } else {
            TerminalText terminal = TerminalText.plain(out);
            terminal.paragraph("", title);
            TerminalRenderer.boxed(table).forEach(terminal::line);
            statements(matrix, what).forEach(line -> terminal.paragraph("", line));
        }
        return ExitCode.OK;
    }

    private static List<List<String>> table(Matrix matrix, Show what) {
        List<List<String>> table = new ArrayList<>();
        List<String> head = new ArrayList<>(List.of(String.join(" ", matrix.across())));
        boolean oneColumn = matrix.columns().size() == 1;
        if (oneColumn) {
            matrix.variants().forEach(head::add);
            head.add(what == Show.change ? "change" : "ahead");
        } else {
            head.addAll(matrix.columns());
        }
        table.add(head);
        for (String row : matrix.rows()) {
            List<String> line = new ArrayList<>(List.of(row));
            for (String column : matrix.columns()) {
                Optional<Cell> cell = matrix.cell(row, column);
                if (oneColumn) {
                    matrix.variants()
                            .forEach(variant -> line.add(cell.map(each -> value(matrix, each, variant))
                                    .orElse("-")));
                }
                line.add(cell.map(each -> text(matrix, each, what)).orElse("-"));
            }
            table.add(line);
        }
        return table;
    }

    private static String value(Matrix matrix, Cell cell, String variant) {
        return cell.value(variant).stream()
                .mapToObj(value -> Figures.shown(matrix.metric(), value))
                .findFirst()
                .orElseGet(() -> cell.failures().getOrDefault(variant, "-"));
    }

    /** One number; in brackets where no interval shows it. */
    private static String text(Matrix matrix, Cell cell, Show what) {
        if (what == Show.change) {
            return cell.lastAgainstFirst(matrix.variants())
                    .map(change -> {
                        String share = change.share().stream()
                                .mapToObj(Percents::whole)
                                .findFirst()
                                .orElse("-");
                        return change.interval()
                                        .filter(logs -> logs.excludesZero())
                                        .isPresent()
                                ? share
                                : "(" + share + ")";
                    })
                    .orElseGet(() -> failed(cell));
        }
        String lead =
                cell.leadShare().stream().mapToObj(Percents::whole).findFirst().orElse("");
        return cell.winner()
                .map(winner -> winner + " " + lead)
                .orElseGet(() -> lead.isEmpty() ? failed(cell) : "no winner (" + lead + ")");
    }

    private static String failed(Cell cell) {
        return cell.failures().isEmpty()
                ? "-"
                : cell.failures().entrySet().stream()
                        .map(entry -> entry.getKey() + ": " + entry.getValue())
                        .collect(Collectors.joining(", "));
    }

    private static List<String> statements(Matrix matrix, Show what) {
        List<String> said = new ArrayList<>(what == Show.lead ? matrix.statements() : List.of());
        boolean brackets = what == Show.change
                && matrix.cells().values().stream()
                        .anyMatch(cell -> cell.lastAgainstFirst(matrix.variants())
                                .filter(change -> change.interval()
                                        .filter(logs -> logs.excludesZero())
                                        .isEmpty())
                                .isPresent());
        if (brackets) {
            said.add("In brackets: no interval shows it, for lack of repetitions or because the interval contains no"
                    + " change.");
        }
        if (what == Show.change) {
            said.add(
                    matrix.metric().better() == io.holdfast.loadtest.measure.Metric.Better.HIGHER
                            ? "More is better."
                            : "Less is better.");
        }
        return said;
    }
}
