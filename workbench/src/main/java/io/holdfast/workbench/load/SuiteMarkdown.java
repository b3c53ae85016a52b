package io.holdfast.workbench.load;

import io.holdfast.loadtest.measure.FailurePattern;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.report.MarkdownReport;
import io.holdfast.loadtest.report.ResultTable;
import io.holdfast.loadtest.report.RunTables;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A suite of loads without arms as two texts, from the raw files of its folder alone: one with every leg, one with what
 * it comes to. What is missing is named in both, and nothing is judged: that takes arms.
 */
public final class SuiteMarkdown {
    private static final int MOST_SECONDS = 30;
    private static final List<Metric> COLUMNS = Stream.concat(
                    Stream.of(Metric.OUTPUT_THROUGHPUT, Metric.REQUEST_THROUGHPUT, Metric.GOOD_SHARE),
                    Stream.of(
                            Metric.percentile(Quantity.TTFT, 50),
                            Metric.percentile(Quantity.TTFT, 95),
                            Metric.percentile(Quantity.TTFT, 99),
                            Metric.percentile(Quantity.ITL, 50),
                            Metric.percentile(Quantity.ITL, 95),
                            Metric.percentile(Quantity.ITL, 99),
                            Metric.percentile(Quantity.E2E, 50),
                            Metric.CACHED_SHARE,
                            Metric.ERRORS))
            .toList();

    private final LoadFolder folder;
    private final List<LoadLeg> legs;
    private final List<LoadResult> results;

    /** @param percentiles of latencies, beside which those of the tables are always computed */
    public SuiteMarkdown(LoadFolder folder, List<Double> percentiles, Optional<Slo> slo) {
        this.folder = folder;
        this.legs = folder.legs();
        List<Double> all = Stream.concat(Stream.of(50.0, 95.0, 99.0), percentiles.stream())
                .distinct()
                .sorted()
                .toList();
        this.results =
                legs.stream().map(leg -> leg.result("holdfast", all, slo)).toList();
    }

    /** Returns true if every planned leg is there. */
    public boolean isWhole() {
        return folder.missing().isEmpty();
    }

    /** Returns true if any request was not answered well, or a leg ended early. */
    public boolean hasFailed() {
        return legs.stream().anyMatch(SuiteMarkdown::hasFailed);
    }

    private static boolean hasFailed(LoadLeg leg) {
        return leg.problem().isPresent() || !leg.failures().isEmpty();
    }

    /** Returns its progress, as {@code PARTIAL: 115 of 204 legs (56.4 %)}. */
    private String headline() {
        int planned = folder.plan().legs().size();
        return String.format(
                        Locale.ROOT,
                        "%s: %d of %d legs (%.1f %%)",
                        isWhole() ? "COMPLETE" : "PARTIAL",
                        legs.size(),
                        planned,
                        100.0 * legs.size() / Math.max(1, planned))
                + (isWhole() || legs.isEmpty()
                        ? ""
                        : ", the last of them `" + legs.getLast().id() + "`");
    }

    /** Every leg with its settings, its measures and what failed. */
    public String experiments() {
        StringBuilder out = new StringBuilder("# Experiments: ")
                .append(MarkdownReport.escaped(folder.plan().suite()))
                .append("\n\n**")
                .append(headline())
                .append("**\n");
        for (int i = 0; i < legs.size(); i++) {
            leg(out, legs.get(i), results.get(i));
        }
        missing(out);
        return out.toString();
    }

    private static void leg(StringBuilder out, LoadLeg leg, LoadResult result) {
        out.append("\n## `").append(leg.id()).append("`\n\n");
        out.append("Load ")
                .append(MarkdownReport.escaped(leg.load()))
                .append(", ")
                .append(result.answered())
                .append(" of ")
                .append(result.requests())
                .append(" requests answered, begun ")
                .append(leg.startedAt())
                .append(leg.settings().isEmpty() ? "" : "; " + MarkdownReport.escaped(facts(leg.settings())))
                .append(".\n\n");
        leg.problem()
                .ifPresent(why -> out.append("It ended early: ")
                        .append(MarkdownReport.escaped(why))
                        .append(".\n\n"));
        MarkdownReport.table(
                out,
                new RunTables.Table(
                        List.of("", "value", "measured by"),
                        result.measures().values().entrySet().stream()
                                .filter(entry -> COLUMNS.contains(entry.getKey())
                                        || entry.getKey().unit() != Metric.Unit.MILLIS)
                                .map(entry -> List.of(
                                        entry.getKey().title(),
                                        entry.getKey().shown(entry.getValue()),
                                        result.method(entry.getKey())))
                                .toList()));
        Optional.ofNullable(leg.notes().get(LoadLeg.BATCHES)).ifPresent(told -> overTime(out, leg, told));
        result.failures()
                .forEach((what, count) ->
                        out.append("\n* ").append(count).append(" failed: ").append(MarkdownReport.escaped(what)));
        out.append(result.failures().isEmpty() ? "" : "\n");
    }

    /** Both by the second: what the client waited for, and what the server ran together. */
    private static void overTime(StringBuilder out, LoadLeg leg, String told) {
        List<String[]> seconds = Arrays.stream(told.split(" ", -1))
                .map(each -> each.split(":", 2))
                .toList();
        int step = Math.ceilDiv(seconds.size(), MOST_SECONDS);
        out.append("\nOver time, by the client's stamps and the server's metrics:\n\n");
        MarkdownReport.table(
                out,
                new RunTables.Table(
                        List.of("second", "under way at the client", "in a step of the server"),
                        IntStream.range(0, seconds.size())
                                .filter(at -> at % step == 0)
                                .mapToObj(seconds::get)
                                .map(each -> List.of(
                                        each[0],
                                        Long.toString(leg.underWay(Long.parseLong(each[0]) * 1_000_000_000L)),
                                        each[1]))
                                .toList()));
    }

    private static String facts(Map<String, String> facts) {
        return facts.entrySet().stream()
                .map(fact -> fact.getKey() + " " + fact.getValue())
                .collect(Collectors.joining(", "));
    }

    /** One table over all legs, what to look into, and what is missing. */
    public String finalReport() {
        StringBuilder out = new StringBuilder("# Final report: ")
                .append(MarkdownReport.escaped(folder.plan().suite()))
                .append("\n\n**")
                .append(headline())
                .append("**\n\n"
                        + "Measured at the client; tokens are the server's count, and requests that failed are in"
                        + " no latency. Loads without arms show how a server fared and not why: for that, see"
                        + " `loadtest ab`.\n\n");
        List<List<String>> table = ResultTable.of(results, COLUMNS);
        MarkdownReport.table(out, new RunTables.Table(table.getFirst(), table.subList(1, table.size())));
        findings(out);
        missing(out);
        if (!folder.plan().settings().isEmpty()) {
            out.append("\n## Settings\n\n");
            folder.plan()
                    .settings()
                    .forEach((name, value) -> out.append("* ")
                            .append(name)
                            .append(": ")
                            .append(MarkdownReport.escaped(value))
                            .append('\n'));
        }
        return out.toString();
    }

    private void findings(StringBuilder out) {
        out.append("\n## What to look into\n\n");
        List<LoadLeg> failed = legs.stream()
                .filter(SuiteMarkdown::hasFailed)
                .sorted(Comparator.comparingInt(leg -> severity(leg).equals("High") ? 0 : 1))
                .toList();
        List<String> said = folder.findings();
        said.forEach(sentence ->
                out.append("* ").append(MarkdownReport.escaped(sentence)).append('\n'));
        if (failed.isEmpty()) {
            out.append(
                    said.isEmpty()
                            ? "Nothing: every request of every leg was answered.\n"
                            : "\nEvery request of every leg was answered.\n");
            return;
        }
        failed.forEach(leg -> out.append("* **")
                .append(severity(leg))
                .append("** `")
                .append(leg.id())
                .append("`: ")
                .append(MarkdownReport.escaped(Stream.concat(
                                leg.problem().stream(),
                                leg.failures().entrySet().stream()
                                        .map(each -> each.getValue() + " of "
                                                + leg.measured().size() + " requests failed, " + each.getKey()))
                        .collect(Collectors.joining("; "))))
                .append('\n'));
        pattern().ifPresent(pattern -> {
            out.append("\nFailed of passes, by configuration:\n\n");
            pattern.lines()
                    .forEach(line -> out.append("* ")
                            .append(MarkdownReport.escaped(line))
                            .append('\n'));
        });
    }

    /** Answers without output look like fast ones, and a leg that ended early lacks its worst requests. */
    private static String severity(LoadLeg leg) {
        return leg.problem().isPresent() || leg.failures().keySet().stream().anyMatch(what -> what.startsWith("EMPTY"))
                ? "High"
                : "Medium";
    }

    /** Absent where ids are not all made of as many parts, the last of which counts passes. */
    private Optional<FailurePattern> pattern() {
        List<List<String>> parts =
                legs.stream().map(leg -> Arrays.asList(leg.id().split("/", -1))).toList();
        int depth = parts.getFirst().size();
        boolean even = depth > 1
                && parts.stream()
                        .allMatch(each -> each.size() == depth && each.getLast().matches("pass\\d+"));
        if (!even) {
            return Optional.empty();
        }
        List<String> factors = new ArrayList<>();
        for (int i = 1; i < depth; i++) {
            factors.add("part " + i);
        }
        List<Map.Entry<List<String>, Boolean>> runs = new ArrayList<>();
        for (int i = 0; i < legs.size(); i++) {
            runs.add(Map.entry(List.copyOf(parts.get(i).subList(0, depth - 1)), hasFailed(legs.get(i))));
        }
        return Optional.of(FailurePattern.of(factors, runs));
    }

    private void missing(StringBuilder out) {
        if (!isWhole()) {
            out.append("\n## Missing\n\n");
            folder.missing().forEach(id -> out.append("* `").append(id).append("`\n"));
        }
    }
}
