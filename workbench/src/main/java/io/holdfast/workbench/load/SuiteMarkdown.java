package io.holdfast.workbench.load;

import io.holdfast.loadtest.measure.FailurePattern;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.measure.Slo;
import io.holdfast.loadtest.report.Document;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.ResultTable;
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
                        : ", the last of them " + legs.getLast().id());
    }

    /** Returns each leg with its settings, its measures and its failures. */
    public String experiments() {
        Document.Builder out = begun("Experiments");
        for (int i = 0; i < legs.size(); i++) {
            leg(out, legs.get(i), results.get(i));
        }
        return ended(out);
    }

    private Document.Builder begun(String title) {
        return Document.titled(title)
                .heading(1, title + ": " + folder.plan().suite())
                .lead(headline());
    }

    private String ended(Document.Builder out) {
        if (!isWhole()) {
            out.heading(2, "Missing").items(folder.missing());
        }
        return MarkdownRenderer.text(out.build());
    }

    private static void leg(Document.Builder out, LoadLeg leg, LoadResult result) {
        out.heading(2, leg.id());
        out.say("Load " + leg.load() + ", " + result.answered() + " of " + result.requests()
                + " requests answered, begun " + leg.startedAt()
                + (leg.settings().isEmpty() ? "" : "; " + facts(leg.settings())) + ".");
        leg.problem().ifPresent(why -> out.say("It ended early: " + why + "."));
        out.table(
                leg.id(),
                List.of("", "value", "measured by"),
                result.measures().values().entrySet().stream()
                        .filter(entry -> COLUMNS.contains(entry.getKey())
                                || entry.getKey().unit() != Metric.Unit.MILLIS)
                        .map(entry -> List.of(
                                entry.getKey().title(),
                                entry.getKey().shown(entry.getValue()),
                                result.method(entry.getKey())))
                        .toList());
        Optional.ofNullable(leg.notes().get(LoadLeg.BATCHES)).ifPresent(told -> overTime(out, leg, told));
        out.items(result.failures().entrySet().stream()
                .map(failed -> failed.getValue() + " failed: " + failed.getKey())
                .toList());
    }

    /** Adds requests under way at the client and in a step of the server, second by second. */
    private static void overTime(Document.Builder out, LoadLeg leg, String told) {
        List<String[]> seconds = Arrays.stream(told.split(" ", -1))
                .map(each -> each.split(":", 2))
                .toList();
        int step = Math.ceilDiv(seconds.size(), MOST_SECONDS);
        out.say("Over time, by the client's stamps and the server's metrics:")
                .table(
                        "Over time",
                        List.of("second", "under way at the client", "in a step of the server"),
                        IntStream.range(0, seconds.size())
                                .filter(at -> at % step == 0)
                                .mapToObj(seconds::get)
                                .map(each -> List.of(
                                        each[0],
                                        Long.toString(leg.underWay(Long.parseLong(each[0]) * 1_000_000_000L)),
                                        each[1]))
                                .toList());
    }

    private static String facts(Map<String, String> facts) {
        return facts.entrySet().stream()
                .map(fact -> fact.getKey() + " " + fact.getValue())
                .collect(Collectors.joining(", "));
    }

    /** Returns one table over all legs, the findings, and the legs that are missing. */
    public String finalReport() {
        Document.Builder out = begun("Final report");
        out.say("Measured at the client; tokens are the server's count, and requests that failed are in no latency."
                + " Loads without arms show how a server fared and not why: for that, see 'loadtest ab'.");
        out.add(Document.Table.of("All legs", ResultTable.of(results, COLUMNS)));
        findings(out);
        if (!folder.plan().settings().isEmpty()) {
            out.heading(2, "Settings")
                    .facts(folder.plan().settings().entrySet().stream()
                            .map(each -> new Document.Fact(each.getKey(), each.getValue()))
                            .toList());
        }
        return ended(out);
    }

    private void findings(Document.Builder out) {
        List<LoadLeg> failed = legs.stream()
                .filter(SuiteMarkdown::hasFailed)
                .sorted(Comparator.comparingInt(leg -> severity(leg).equals("High") ? 0 : 1))
                .toList();
        List<String> said = folder.findings();
        out.heading(2, "What to look into").items(said);
        if (failed.isEmpty()) {
            out.say(
                    said.isEmpty()
                            ? "Nothing: every request of every leg was answered."
                            : "Every request of every leg was answered.");
            return;
        }
        out.add(new Document.Items(failed.stream()
                .map(leg -> new Document.Item(severity(leg), leg.id() + ": " + why(leg), List.of()))
                .toList()));
        pattern()
                .ifPresent(pattern ->
                        out.say("Failed of passes, by configuration:").items(pattern.lines()));
    }

    private static String why(LoadLeg leg) {
        return Stream.concat(
                        leg.problem().stream(),
                        leg.failures().entrySet().stream()
                                .map(each -> each.getValue() + " of "
                                        + leg.measured().size() + " requests failed, " + each.getKey()))
                .collect(Collectors.joining("; "));
    }

    /** Answers without output look like fast ones, and a leg that ended early lacks its worst requests. */
    private static String severity(LoadLeg leg) {
        return leg.problem().isPresent() || leg.failures().keySet().stream().anyMatch(what -> what.startsWith("EMPTY"))
                ? "High"
                : "Medium";
    }

    /** Returns the pattern of failures; absent unless all ids have as many parts, the last of which counts passes. */
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
}
