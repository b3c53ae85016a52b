package io.holdfast.loadtest.report;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.report.PlainVerdict.Comparison;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Collectors;

/**
 * A result as one page that needs nothing else: no script, no font, no network. What a reader has to know stands above
 * the fold, from large to small: the answer, the effect, what a naive comparison would have said, how sure it is; below
 * it is why.
 */
public final class HtmlReport {
    private final Result result;
    private final RunHeader header;
    private final String journal;
    private final Html page;

    private final RunTables tables;

    private HtmlReport(Result result, RunMeasures measures, String journal) {
        this.result = result;
        this.tables = new RunTables(measures, result.header().workload().isClosed());
        this.header = result.header();
        this.journal = journal;
        this.page = Html.page(result.verdict().headline() + " - load test of " + header.unit());
    }

    /**
     * The whole page.
     *
     * @param measures what it shows beside its verdict
     * @param journal the name of the file that the result was read from, for the commands at the end
     */
    public static String of(Result result, RunMeasures measures, String journal) {
        return new HtmlReport(result, measures, journal).page();
    }

    private String page() {
        answer();
        comparisons();
        RunFigures figures = new RunFigures(page, result);
        page.section("Every leg that counts");
        figures.legend();
        figures.legsAndPairs();
        page.endSection();
        page.section("What probes waited, and why");
        figures.legend();
        figures.distributionsAndShares();
        page.endSection();
        gates();
        findings();
        spread();
        load();
        environment();
        again();
        legs();
        return page.end();
    }

    private void answer() {
        page.line("<header class=\"" + PlainVerdict.mood(result) + "\">");
        page.line("<p class=\"question\">Did holding help?</p>");
        page.line("<h1 id=\"verdict\">" + Html.escaped(PlainVerdict.answer(result)) + "</h1>");
        page.line("<div class=\"cards\">");
        page.card("card main", PlainVerdict.takeaway(result));
        page.card("card", PlainVerdict.naive(result));
        page.card("card", PlainVerdict.bias(result));
        page.line("</div>");
        page.line("<p id=\"sure\"><b>How sure?</b> " + Html.prose(PlainVerdict.sure(result)) + "</p>");
        PlainVerdict.partial(result)
                .ifPresent(partial -> page.line("<p class=\"word\"><b>" + Html.escaped(partial) + "</b></p>"));
        page.line("<p class=\"word\"><strong>" + Html.escaped(result.headline()) + "</strong>: "
                + Html.escaped(PlainVerdict.meaning(result.verdict())) + "</p>");
        page.line("<p class=\"reason\">" + Html.prose(result.verdict().reason()) + "</p>");
        page.line("</header>");
    }

    private void comparisons() {
        if (result.verdict().finding() == Finding.INVALID) {
            return;
        }
        double delta = header.criteria().delta();
        List<Comparison> rows = PlainVerdict.comparisons(result);
        page.section("Three numbers that are easily confused");
        page.note("Change of time to first token. Left of zero is faster. The grey band is too small to matter ("
                + PlainVerdict.change(-delta) + " to " + PlainVerdict.change(delta) + "); bars are 95 % intervals. What"
                + " comes on top of each other multiplies: it does not add up.");
        new IntervalRows(
                        rows.stream()
                                .map(row -> new IntervalRows.Row(
                                        row.name(),
                                        row.what(),
                                        row.equals(rows.getLast()) ? PlainVerdict.word(result) : Optional.empty(),
                                        row.log(),
                                        row.ci95(),
                                        row.equals(rows.getLast())))
                                .toList(),
                        delta)
                .on(page);
        page.endSection();
    }

    private void gates() {
        page.section("What was checked");
        if (result.verdict().finding() == Finding.INVALID) {
            page.line("<p class=\"failed\"><b>Failed.</b> "
                    + Html.prose(result.verdict().reason()) + "</p>");
            page.note("What has to hold in each leg and among all of them:");
        } else {
            long legs = result.legs().stream().filter(LegRecord::isMeasured).count();
            page.line("<p><b>All held</b>, in " + legs + " legs:</p>");
        }
        page.list(List.of(
                "Legs ran in the order that was drawn before the run, with the same steps and, byte for byte, the same"
                        + " requests in both arms.",
                "At most 1 % of a leg's requests failed; none came back empty or with impossible times.",
                header.claimsHold()
                        ? "Pinned legs held the whole prefix to the end; baseline legs spent the same time on a sham."
                        : "Pinned legs were switched on; baseline legs spent the same time on a sham.",
                "Each hold step took its slot of " + header.slotMillis() + " ms, within " + header.toleranceMillis()
                        + " ms.",
                "Both arms generated as many tokens, within 1 %.",
                "It was one server all through, by what it says about itself."));
        page.endSection();
    }

    private void findings() {
        RunFindings findings = RunFindings.of(result);
        page.section("What to know before believing it");
        if (findings.all().isEmpty()) {
            page.line("<p>Nothing: every gate held and nothing was odd.</p>");
        } else {
            page.line("<ul class=\"findings\">");
            findings.all()
                    .forEach(item -> page.line("<li><b class=\""
                            + item.severity().name().toLowerCase(Locale.ROOT) + "\">"
                            + item.severity().text() + "</b> " + Html.prose(item.what())
                            + (item.evidence().isEmpty()
                                    ? ""
                                    : " <span>" + Html.escaped(String.join("; ", item.evidence())) + "</span>")
                            + "</li>"));
            page.line("</ul>");
        }
        if (!findings.failures().failing().isEmpty()) {
            page.note("Requests that failed, of all that were sent there, by arm, purpose, leg and cycle:");
            page.list(findings.failures().lines());
        }
        page.endSection();
    }

    private void spread() {
        page.section(RunTables.SPREAD);
        page.list(tables.spread());
        page.note(RunTables.SPREAD_NOTE);
        page.note("Time to first token of probes, in ms:");
        table("Time to first token by arm and position", tables.byPosition());
        if (!tables.waves().rows().isEmpty()) {
            page.note("The same by when in its leg a probe came, which a slow first wave would show:");
            table("Time to first token by wave", tables.waves());
        }
        page.endSection();
    }

    private void load() {
        page.section(RunTables.LOAD);
        page.note(RunTables.LOAD_NOTE);
        if (!tables.notes().isEmpty()) {
            page.list(tables.notes());
        }
        table("What requests saw, by arm", tables.load());
        page.endSection();
    }

    private void table(String name, RunTables.Table table) {
        page.table(name, table.heads(), table.rows().stream());
    }

    private void environment() {
        page.section("How it was measured");
        page.line("<dl>");
        page.entry("server", header.unit());
        header.client().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> page.entry(entry.getKey(), entry.getValue()));
        page.entry("engine", header.engine().text());
        page.entry("pinned legs", header.holder());
        page.entry(
                "workload",
                header.workload().name() + ", prefix " + header.workload().prefixTokens() + " tokens, pressure "
                        + header.workload().pressureTokens() + " tokens, id " + result.workloadId());
        page.entry(
                "plan",
                header.plan().lives().size() + " pairs: "
                        + header.plan().rounds().stream()
                                .map(round ->
                                        round.stream().map(PairOrder::name).collect(Collectors.joining(" ")))
                                .collect(Collectors.joining(" | "))
                        + "; seed " + result.seed());
        page.entry(
                "isolation",
                header.isSalted()
                        ? "each leg's texts begin with a salt of their own"
                        : "the cache is emptied before each leg");
        page.entry(
                "judged by",
                result.metrics().stream()
                                .map(metric -> metric.statistic().text())
                                .collect(Collectors.joining(", and by "))
                        + String.format(
                                Locale.ROOT,
                                "; an effect counts from %.1f %% on, at a level of %.0f %%%s",
                                100 * Math.expm1(header.criteria().delta()),
                                100 * header.criteria().alpha(),
                                shared()));
        page.entry(
                "other runs",
                "not corrected for: of many runs in which nothing happens a few look like an effect, so say how many"
                        + " there were, or have one sweep judge them together");
        page.entry("begun", header.startedAt());
        page.line("</dl>");
        page.endSection();
    }

    /** Describes what the level is shared out among. */
    private String shared() {
        List<Integer> looks = header.plan().looks();
        return (looks.isEmpty()
                        ? ""
                        : ", shared out among looks at the data after "
                                + looks.stream().map(String::valueOf).collect(Collectors.joining(", ")) + " rounds")
                + (result.metrics().size() > 1
                        ? "; p values are corrected for " + result.metrics().size() + " numbers (Holm)"
                        : "");
    }

    private void again() {
        page.section("To do it again");
        RunCommand.of(header).ifPresent(command -> {
            page.note("The same experiment, with the same requests in the same order:");
            page.line("<pre>" + Html.escaped(command) + "</pre>");
        });
        page.note("The same answer from the same data:");
        String file = RunCommand.quoted(journal);
        page.line("<pre>holdfast loadtest analyze " + Html.escaped(file) + "\nholdfast loadtest report "
                + Html.escaped(file) + "</pre>");
        page.endSection();
    }

    private void legs() {
        int prefix = header.workload().prefixTokens();
        page.section("All legs, those that do not count included");
        page.table(
                "All legs",
                List.of("leg", "arm", header.statistic().name() + ", ms", "prefix found", "probes", "problem"),
                result.legs().stream()
                        .map(leg -> List.of(
                                leg.label() + (leg.isMeasured() ? "" : " (does not count)"),
                                leg.arm().name().toLowerCase(Locale.ROOT),
                                PlainVerdict.number(header.statistic().of(leg.requests()), "%.1f"),
                                share(Analysis.hitShare(leg, prefix)),
                                leg.probes().stream()
                                                .filter(RequestRecord::isOk)
                                                .count() + " of "
                                        + leg.probes().size(),
                                leg.problem().orElse(""))));
        page.endSection();
    }

    private static String share(OptionalDouble share) {
        return share.isPresent() ? String.format(Locale.ROOT, "%.0f %%", 100 * share.getAsDouble()) : "unknown";
    }
}
