package io.holdfast.loadtest.report;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.report.PlainVerdict.Comparison;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A result as one page that needs nothing else: no script, no font, no network. What a reader has to know stands above the
 * fold, from large to small: the answer, the effect, what a naive comparison would have said; below it is why.
 */
public final class HtmlReport {
    private static final double MOST_SHOWN = 400;

    private final Result result;
    private final RunHeader header;
    private final String journal;
    private final List<LegRecord> measured;
    private final StringBuilder out = new StringBuilder(64_000);

    private HtmlReport(Result result, String journal) {
        this.result = result;
        this.header = result.header();
        this.journal = journal;
        this.measured = result.legs().stream().filter(LegRecord::isMeasured).toList();
    }

    /**
     * The whole page.
     *
     * @param journal the name of the file that the result was read from, for the commands at the end
     */
    public static String of(Result result, String journal) {
        return new HtmlReport(result, journal).page();
    }

    private String page() {
        line("<!doctype html>");
        line("<html lang=\"en\"><head><meta charset=\"utf-8\">");
        line("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
        line("<meta name=\"color-scheme\" content=\"light dark\">");
        line("<title>" + escaped(result.verdict().headline()) + " - load test of " + escaped(header.unit())
                + "</title>");
        line("<style>" + style() + "</style></head><body><main>");
        answer();
        comparisons();
        figures();
        gates();
        environment();
        legs();
        line("</main></body></html>");
        return out.toString();
    }

    private void answer() {
        line("<header class=\"" + PlainVerdict.mood(result) + "\">");
        line("<p class=\"question\">Did holding help?</p>");
        line("<h1>" + escaped(PlainVerdict.answer(result)) + "</h1>");
        PlainVerdict.effect(result).ifPresent(effect -> line("<p class=\"effect\">" + escaped(effect) + "</p>"));
        line("<p class=\"word\"><strong>" + escaped(result.headline()) + "</strong></p>");
        line("<p>" + escaped(result.verdict().reason()) + "</p>");
        line("</header>");
    }

    /** Three intervals on one axis. */
    private void comparisons() {
        List<Comparison> rows = PlainVerdict.comparisons(result);
        double delta = header.criteria().delta();
        double[] ends = Stream.concat(
                        Stream.of(-delta, delta, 0.0),
                        rows.stream()
                                .flatMap(row -> Stream.concat(
                                        row.log().stream().boxed(),
                                        row.ci95().stream().flatMap(ci -> Stream.of(ci.low(), ci.high())))))
                .mapToDouble(log -> Math.min(MOST_SHOWN, 100 * Math.expm1(log)))
                .sorted()
                .toArray();
        double least = ends[0];
        double most = ends[ends.length - 1];
        double room = (most - least) * 0.06;
        Track track = new Track(least - room, most + room);
        line("<section aria-labelledby=\"three\"><h2 id=\"three\">Three numbers that are easily confused</h2>");
        line("<p class=\"note\">Change of time to first token. Left of zero is faster. The grey band is too small to"
                + " matter (" + PlainVerdict.change(100 * Math.expm1(-delta)) + " to "
                + PlainVerdict.change(100 * Math.expm1(delta)) + "); bars are 95 % intervals."
                + (result.verdict().finding() == Finding.INVALID
                        ? " They are shown for whoever looks for the cause; a run that is void shows none of them."
                        : "")
                + "</p>");
        line("<div class=\"forest\">");
        for (Comparison row : rows) {
            boolean effect = row.equals(rows.getLast());
            line("<div class=\"row" + (effect ? " main" : "") + "\"><div class=\"name\"><b>" + escaped(row.name())
                    + "</b><span>" + escaped(row.what()) + "</span></div>");
            line("<div class=\"track\" aria-hidden=\"true\">"
                    + track.span("band", 100 * Math.expm1(-delta), 100 * Math.expm1(delta))
                    + track.at("zero", 0)
                    + row.ci95()
                            .map(ci -> track.span("ci", 100 * Math.expm1(ci.low()), 100 * Math.expm1(ci.high())))
                            .orElse("")
                    + (row.log().isPresent()
                            ? track.at("dot", 100 * Math.expm1(row.log().getAsDouble()))
                            : "")
                    + "</div>");
            line("<div class=\"value\"><b>"
                    + (row.log().isPresent()
                            ? PlainVerdict.change(100 * Math.expm1(row.log().getAsDouble()))
                            : "unknown")
                    + "</b><span>" + row.ci95().map(PlainVerdict::interval).orElse("no interval")
                    + "</span></div></div>");
        }
        line("<div class=\"row scale\" aria-hidden=\"true\"><div></div><div class=\"track\">"
                + Svg.ticks(least - room, most + room).stream()
                        .map(tick -> track.label(Svg.number("%+.0f %%", tick), tick))
                        .collect(Collectors.joining())
                + "</div><div></div></div></div></section>");
    }

    /** Places on an axis that is as wide as its room, in percent of it. */
    private record Track(double least, double most) {
        double place(double value) {
            return 100 * (Math.clamp(value, least, most) - least) / (most - least);
        }

        String span(String style, double low, double high) {
            return String.format(
                    Locale.ROOT,
                    "<i class=\"%s\" style=\"left:%.2f%%;width:%.2f%%\"></i>",
                    style,
                    place(low),
                    place(high) - place(low));
        }

        String at(String style, double value) {
            return String.format(Locale.ROOT, "<i class=\"%s\" style=\"left:%.2f%%\"></i>", style, place(value));
        }

        String label(String text, double value) {
            return String.format(
                    Locale.ROOT, "<i class=\"label\" style=\"left:%.2f%%\">%s</i>", place(value), escaped(text));
        }
    }

    private void figures() {
        line("<section aria-labelledby=\"why\"><h2 id=\"why\">Why</h2>");
        line("<p class=\"legend\"><span class=\"key baseline\">baseline</span>"
                + "<span class=\"key pinned\">pinned</span></p>");
        line("<div class=\"figures\">");
        inTimeOrder();
        distributions();
        foundShares();
        pairRatios();
        line("</div></section>");
    }

    private void inTimeOrder() {
        Statistic number = header.statistic();
        double most = measured.stream()
                .flatMap(leg -> Stream.concat(
                        leg.probes().stream()
                                .flatMap(probe -> probe.ttftMillis().stream().boxed()),
                        number.of(leg.requests()).stream().boxed()))
                .mapToDouble(Double::doubleValue)
                .max()
                .orElse(0);
        if (most <= 0) {
            figure(
                    "Legs in the order in which they ran",
                    "No probe of a leg that counts has a time.",
                    Optional.empty());
            return;
        }
        Svg svg = Svg.linear(
                        "Time to first token of each leg in the order in which they ran",
                        0,
                        measured.size() + 1,
                        0,
                        most * 1.05)
                .yAxis("time to first token, ms", "%.0f")
                .xTitle("legs in the order in which they ran; two make a pair");
        for (int i = 0; i < measured.size(); i++) {
            LegRecord leg = measured.get(i);
            String style = style(leg);
            int at = i + 1;
            leg.probes()
                    .forEach(probe -> probe.ttftMillis()
                            .ifPresent(millis -> svg.mark(
                                    style + " faint", at, millis, 2, leg.label() + ": a probe, " + millis(millis))));
            number.of(leg.requests())
                    .ifPresent(millis -> svg.mark(style, at, millis, 4.5, leg.label() + ": " + millis(millis)));
        }
        figure(
                "Legs in the order in which they ran",
                "Large marks are " + number.text() + ", small ones single probes. A drift or a slow first leg would"
                        + " show as a slope.",
                Optional.of(svg.end()));
    }

    private void distributions() {
        double[] baseline = ttfts(Arm.BASELINE);
        double[] pinned = ttfts(Arm.PINNED);
        if (baseline.length == 0 && pinned.length == 0) {
            return;
        }
        double[] all = Stream.of(baseline, pinned)
                .flatMapToDouble(Arrays::stream)
                .sorted()
                .toArray();
        double least = Math.max(all[0], 1e-3) * 0.95;
        Svg svg = Svg.logarithmic(
                        "Distribution of times to first token by arm", least, all[all.length - 1] * 1.05, 0, 100)
                .yAxis("probes at most as slow, %", "%.0f")
                .xAxis("time to first token, ms", all[0] < 10 ? "%.1f" : "%.0f");
        if (baseline.length > 0) {
            svg.staircase("curve baseline", baseline);
        }
        if (pinned.length > 0) {
            svg.staircase("curve pinned", pinned);
        }
        figure(
                "Time to first token of all probes",
                summary("baseline", result.baseline()) + "; " + summary("pinned", result.pinned()) + ".",
                Optional.of(svg.end()));
    }

    private static String summary(String name, ArmSummary arm) {
        return name + ": median " + PlainVerdict.number(arm.ttftMillis(), "%.1f ms") + ", " + arm.probes()
                + " probes in " + arm.legs() + " legs";
    }

    private void foundShares() {
        int prefix = header.workload().prefixTokens();
        Svg svg = Svg.linear(
                        "Share of the prefix that each leg's probes found in the cache", 0, measured.size() + 1, 0, 105)
                .yAxis("found in the cache, %", "%.0f")
                .xTitle("legs in the order in which they ran");
        boolean any = false;
        for (int i = 0; i < measured.size(); i++) {
            LegRecord leg = measured.get(i);
            OptionalDouble share = Analysis.hitShare(leg, prefix);
            if (share.isPresent()) {
                any = true;
                svg.mark(
                        style(leg),
                        i + 1,
                        100 * share.getAsDouble(),
                        4.5,
                        String.format(Locale.ROOT, "%s: %.0f %%", leg.label(), 100 * share.getAsDouble()));
            }
        }
        CacheProof proof = result.cacheProof();
        figure(
                "What the server says it found",
                "The baseline " + lost(proof.exposed())
                        + proof.exposure().map(HtmlReport::shares).orElse("")
                        + ". Pinned legs " + kept(proof.kept())
                        + proof.mechanism().map(HtmlReport::shares).orElse("") + ".",
                any ? Optional.of(svg.end()) : Optional.empty());
    }

    private static String lost(CacheProof.Answer answer) {
        return switch (answer) {
            case YES -> "lost its prefix";
            case NO -> "was not shown to lose its prefix";
            case UNKNOWN -> "may or may not have lost its prefix: the server did not say";
        };
    }

    private static String kept(CacheProof.Answer answer) {
        return switch (answer) {
            case YES -> "kept more of it";
            case NO -> "were not shown to keep more of it";
            case UNKNOWN -> "may or may not have kept more of it: the server did not say";
        };
    }

    private static String shares(Interval share) {
        return String.format(
                Locale.ROOT, " (95 %% interval of the share: %.0f to %.0f %%)", 100 * share.low(), 100 * share.high());
    }

    private void pairRatios() {
        Map<PairOrder, double[]> ratios = new TreeMap<>();
        for (PairOrder order : PairOrder.values()) {
            ratios.put(order, result.estimate().data().of(order));
        }
        double[] all = ratios.values().stream()
                .flatMapToDouble(Arrays::stream)
                .map(log -> 100 * Math.expm1(log))
                .toArray();
        if (all.length == 0) {
            return;
        }
        double least = Math.min(-1, Arrays.stream(all).min().orElseThrow());
        double most = Math.max(1, Arrays.stream(all).max().orElseThrow());
        double room = 0.06 * (most - least);
        Svg svg = Svg.linear("Second leg against first, pair by pair", 0.4, 3.6, least - room, most + room)
                .yAxis("second leg against first, %", "%+.0f")
                .xTitle("pairs, by the order of their legs")
                .line("zero", 0.4, 0, 3.6, 0);
        svg.xLabel(1, "A/A").xLabel(2, "baseline, pinned").xLabel(3, "pinned, baseline");
        int column = 1;
        for (PairOrder order : List.of(PairOrder.AA, PairOrder.BP, PairOrder.PB)) {
            double[] values = ratios.getOrDefault(order, new double[0]);
            for (int i = 0; i < values.length; i++) {
                double x = column + (values.length == 1 ? 0 : 0.5 * i / (values.length - 1) - 0.25);
                double percent = 100 * Math.expm1(values[i]);
                svg.mark(order == PairOrder.AA ? "baseline" : "pinned", x, percent, 4, PlainVerdict.change(percent));
            }
            column++;
        }
        figure(
                "Every pair",
                "A/A pairs scatter around the order bias. Holding shows where the two orders fall to opposite sides of"
                        + " them.",
                Optional.of(svg.end()));
    }

    private void figure(String title, String caption, Optional<String> picture) {
        line("<figure><figcaption><b>" + escaped(title) + "</b></figcaption>"
                + picture.orElse("<p class=\"unknown\">unknown</p>") + "<p class=\"note\">" + escaped(caption)
                + "</p></figure>");
    }

    private void gates() {
        List<String> notes = Stream.concat(result.verdict().warnings().stream(), result.warnings().stream())
                .toList();
        line("<section aria-labelledby=\"notes\"><h2 id=\"notes\">What to know before believing it</h2>");
        if (notes.isEmpty()) {
            line("<p>Nothing: every gate held and nothing was odd.</p>");
        } else {
            line("<ul>"
                    + notes.stream()
                            .map(note -> "<li>" + escaped(note) + "</li>")
                            .collect(Collectors.joining("\n")) + "</ul>");
        }
        line("</section>");
    }

    private void environment() {
        line("<section aria-labelledby=\"how\"><h2 id=\"how\">How it was measured</h2><dl>");
        entry("server", header.unit());
        header.client().entrySet().stream()
                .filter(entry -> !entry.getKey().equals(RunHeader.SALT))
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> entry(entry.getKey(), entry.getValue()));
        entry("engine", header.engine().text());
        entry("pinned legs", header.holder());
        entry(
                "workload",
                header.workload().name() + ", prefix " + header.workload().prefixTokens() + " tokens, pressure "
                        + header.workload().pressureTokens() + " tokens, id " + result.workloadId());
        entry(
                "plan",
                header.plan().lives().size() + " pairs: "
                        + header.plan().rounds().stream()
                                .map(round ->
                                        round.stream().map(PairOrder::name).collect(Collectors.joining(" ")))
                                .collect(Collectors.joining(" | "))
                        + "; seed " + result.seed());
        entry(
                "isolation",
                header.isSalted()
                        ? "each leg's texts begin with a salt of their own"
                        : "the cache is emptied before each leg");
        entry(
                "judged by",
                result.metrics().stream()
                                .map(metric -> metric.statistic().text())
                                .collect(Collectors.joining(", and by "))
                        + String.format(
                                Locale.ROOT,
                                "; an effect counts from %.1f %% on, at a level of %.0f %%",
                                100 * Math.expm1(header.criteria().delta()),
                                100 * header.criteria().alpha()));
        entry("begun", header.startedAt());
        line("</dl><pre>holdfast loadtest analyze " + escaped(journal) + "\nholdfast loadtest report "
                + escaped(journal) + "</pre></section>");
    }

    private void entry(String name, String value) {
        if (!value.isBlank()) {
            line("<dt>" + escaped(name) + "</dt><dd>" + escaped(value) + "</dd>");
        }
    }

    private void legs() {
        int prefix = header.workload().prefixTokens();
        line("<section aria-labelledby=\"table\"><h2 id=\"table\">Every leg</h2><div class=\"scroll\" tabindex=\"0\""
                + " role=\"region\" aria-labelledby=\"table\"><table>");
        line("<thead><tr><th scope=\"col\">leg</th><th scope=\"col\">arm</th><th scope=\"col\">"
                + escaped(header.statistic().name()) + ", ms</th><th scope=\"col\">prefix found</th>"
                + "<th scope=\"col\">probes</th><th scope=\"col\">problem</th></tr></thead><tbody>");
        for (LegRecord leg : result.legs()) {
            line("<tr><th scope=\"row\">" + escaped(leg.label()) + (leg.isMeasured() ? "" : " (does not count)")
                    + "</th><td>" + leg.arm().name().toLowerCase(Locale.ROOT) + "</td><td>"
                    + PlainVerdict.number(header.statistic().of(leg.requests()), "%.1f") + "</td><td>"
                    + share(Analysis.hitShare(leg, prefix)) + "</td><td>"
                    + leg.probes().stream().filter(RequestRecord::isOk).count() + " of "
                    + leg.probes().size() + "</td><td>" + escaped(leg.problem().orElse("")) + "</td></tr>");
        }
        line("</tbody></table></div></section>");
    }

    private static String share(OptionalDouble share) {
        return share.isPresent() ? String.format(Locale.ROOT, "%.0f %%", 100 * share.getAsDouble()) : "unknown";
    }

    private double[] ttfts(Arm arm) {
        return measured.stream()
                .filter(leg -> leg.arm() == arm)
                .flatMap(leg -> leg.probes().stream())
                .flatMapToDouble(probe -> probe.ttftMillis().stream())
                .sorted()
                .toArray();
    }

    private static String style(LegRecord leg) {
        return leg.arm() == Arm.PINNED ? "pinned" : "baseline";
    }

    private static String millis(double millis) {
        return String.format(Locale.ROOT, "%.1f ms", millis);
    }

    private static String escaped(String text) {
        return Html.escaped(text);
    }

    private void line(String html) {
        out.append(html).append('\n');
    }

    private static String style() {
        try (InputStream in = HtmlReport.class.getResourceAsStream("report.css")) {
            if (in == null) {
                throw new IllegalStateException("report.css is missing from the jar that HtmlReport came from.");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
