package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.workbench.compare.Comparison;
import io.holdfast.workbench.compare.Comparison.Placed;
import io.holdfast.workbench.compare.Expectation;
import io.holdfast.workbench.compare.Expectation.Judged;
import io.holdfast.workbench.compare.Expectation.Outcome;
import io.holdfast.workbench.compare.ExpectationFile;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Sets results beside each other. */
@Command(
        name = "compare",
        description = {
            "Compares results: ratio, change, and whether the repetitions show a difference. The first file is"
                    + " the reference. Reads suites of holdfast, journals of 'loadtest run', and results of vllm"
                    + " bench serve, sglang.bench_serving, aiperf and guidellm, tables as CSV or Markdown, and"
                    + " phases of a benchmark log; of one file it shows how far repetitions lie apart.",
            "Exit code 1 when a metric became worse than --fail-on-regression allows or an expectation was missed; 3"
                    + " when one of these is undecided, or when a file lacks a metric that --fail-on-regression needs."
        },
        sortOptions = false)
public final class LoadtestCompareCommand implements Callable<Integer> {
    private static final Pattern PERCENT = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*%?");

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", arity = "1..*", description = "Result files; the first is the reference.")
    private List<Path> paths = List.of();

    @Option(
            names = "--metric",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Metrics to compare, as throughput, ttft_p50, itl_p99, errors (default: the usual ones that"
                    + " the files contain).")
    private List<String> metrics = List.of();

    @Option(
            names = "--workload",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Workloads to compare (default: all).")
    private List<String> workloads = List.of();

    @Option(
            names = "--phase",
            paramLabel = "NAME,NAME",
            split = ",",
            description = "Phases of a benchmark log, each treated as a file; the first is the reference"
                    + " (default: all).")
    private List<String> phases = List.of();

    @Option(
            names = "--control",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Workloads that should not have changed. Their largest change counts as noise and is"
                    + " printed beside each change.")
    private List<String> controls = List.of();

    @Option(
            names = "--margin",
            paramLabel = "PERCENT",
            defaultValue = "5%",
            description =
                    "Largest change that counts as none, where the repetitions show it (default: ${DEFAULT-VALUE}).")
    private String margin = "5%";

    @Option(
            names = "--fail-on-regression",
            paramLabel = "PERCENT",
            description = "Exit with 1 when a metric became worse by more than this: its whole interval, or without"
                    + " repetitions its value.")
    private Optional<String> worst = Optional.empty();

    @Option(
            names = "--expect",
            paramLabel = "TEXT|FILE",
            description = "Expectation about the last file relative to the first, as 'overhead(throughput)<=5%% @"
                    + " 8..16', or a YAML file with a list of them; repeatable.")
    private List<String> expected = List.of();

    @Option(names = "--json", description = "One JSON document on standard output and nothing else.")
    private boolean json;

    @Option(names = "--markdown", description = "Markdown tables, for an issue or a log.")
    private boolean markdown;

    LoadtestCompareCommand() {}

    @Override
    public Integer call() {
        if (json && markdown) {
            throw new CommandException("--json and --markdown are given; write one of them.");
        }
        double within = Math.log1p(percent("--margin", margin));
        Optional<Double> limit = worst.map(text -> percent("--fail-on-regression", text));
        List<List<Expectation>> expectations = expectations();
        ResultFiles read = ResultFiles.read(paths, phases);
        if (read.files().size() < 2 && (limit.isPresent() || !expectations.isEmpty())) {
            throw new CommandException(
                    "--fail-on-regression and --expect need two files, or phases of a log by --phase; name the"
                            + " reference first, then the other one.");
        }
        refuseUnknownControls(read);
        Comparison comparison = Comparison.of(read.files(), new LinkedHashSet<>(workloads));
        List<Metric> shown = comparison.metrics(metrics);
        List<Placed> failed =
                limit.map(share -> comparison.worseBy(share, shown)).orElse(List.of());
        List<String> untold = limit.map(any -> comparison.untold(shown)).orElse(List.of());
        List<Judged> judged = expectations.stream()
                .flatMap(each -> Expectation.judge(each, comparison).stream())
                .toList();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(ComparisonJson.of(comparison, shown, within, read.notes(), failed, untold, judged));
        } else {
            Document text = new ComparisonText(comparison, shown, within, Set.copyOf(controls))
                    .document(markdown, read.notes(), failed, untold, judged);
            if (markdown) {
                out.println(MarkdownRenderer.text(text).stripTrailing());
            } else {
                TerminalText.plain(out).show(text);
            }
        }
        return code(failed, untold, judged);
    }

    /** A control that is nowhere would have no noise to show, and nobody would notice. */
    private void refuseUnknownControls(ResultFiles read) {
        Set<String> there = read.files().stream()
                .flatMap(file -> file.results().results().stream())
                .map(LoadResult::workload)
                .collect(Collectors.toCollection(TreeSet::new));
        controls.stream().filter(name -> !there.contains(name)).findFirst().ifPresent(name -> {
            throw new CommandException("--control names '" + name + "', which is no workload of these files; there are "
                    + String.join(", ", there) + ".");
        });
    }

    private static double percent(String option, String text) {
        Matcher matcher = PERCENT.matcher(text.strip());
        if (!matcher.matches()) {
            throw new CommandException(option + " is '" + text + "'; write a percentage such as 5%.");
        }
        return Double.parseDouble(matcher.group(1)) / 100;
    }

    /** Reads those of each option: one, or all of a file. */
    private List<List<Expectation>> expectations() {
        List<List<Expectation>> all = new ArrayList<>();
        for (String each : expected) {
            if (each.contains("(")) {
                all.add(List.of(Expectation.of(each, each)));
            } else if (!Files.exists(Path.of(each))) {
                throw new CommandException("--expect is '" + each + "', which is neither an expectation, such as"
                        + " 'overhead(throughput)<=5%', nor a file with some.");
            } else {
                all.add(ExpectationFile.read(Path.of(each)));
            }
        }
        return all;
    }

    private static int code(List<Placed> failed, List<String> untold, List<Judged> judged) {
        Outcome outcome = Expectation.worst(judged);
        if (!failed.isEmpty() || outcome == Outcome.MISSED || outcome == Outcome.HARMFUL) {
            return ExitCode.CHECK_FAILED;
        }
        return outcome == Outcome.UNDECIDED || !untold.isEmpty() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }
}
