package io.holdfast.loadtest.report;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.Floods;
import io.holdfast.loadtest.analysis.OwnRequests;
import io.holdfast.loadtest.analysis.QuantileRange;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunFindings;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.analysis.Shares;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.report.Document.Answer;
import io.holdfast.loadtest.report.Document.Change;
import io.holdfast.loadtest.report.Document.Fact;
import io.holdfast.loadtest.report.Document.Intervals;
import io.holdfast.loadtest.report.Document.Item;
import io.holdfast.loadtest.report.Document.Items;
import io.holdfast.loadtest.report.Document.Paragraph;
import io.holdfast.loadtest.report.Document.Voice;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The result of a run with a verdict, for people: in full for a page, without figures for a text that is handed on, and
 * in brief for a terminal. A reader meets it from large to small: the answer, the effect, what a naive comparison would
 * have said, how sure it is; below it is why.
 */
public final class RunDocument {
    private static final String FAILED =
            "Requests that failed, of all that were sent there, by arm, purpose, leg and cycle:";

    private final Result result;
    private final RunHeader header;
    private final Document.Builder out;

    private RunDocument(Result result) {
        this.result = result;
        this.header = result.header();
        this.out = Document.titled(result.verdict().headline() + " - load test of " + header.unit());
    }

    /**
     * Returns all that is known of the run.
     *
     * @param measures what it shows beside its verdict
     * @param journal the name of the file that the result was read from, for the commands at the end
     */
    public static Document page(Result result, RunMeasures measures, String journal) {
        RunDocument run = new RunDocument(result);
        run.answer();
        if (result.verdict().finding() != Finding.INVALID) {
            run.out.heading(3, "Numbers that are easily confused");
            double delta = run.header.criteria().delta();
            run.out.note("Change of time to first token. Left of zero is faster. The grey band is too small to matter ("
                    + Shown.change(-delta) + " to " + Shown.change(delta) + "); bars are 95 % intervals. What comes on"
                    + " top of each other multiplies: it does not add up.");
            run.comparisons();
        }
        RunFigures figures = new RunFigures(result);
        run.out.heading(3, "Every leg that counts").add(figures.legsInOrder());
        figures.pairs().ifPresent(run.out::add);
        run.out.heading(3, "What probes waited, and why");
        figures.distributions().ifPresent(run.out::add);
        run.out.add(figures.foundShares());
        run.gates();
        run.out.heading(3, "What to know before believing it");
        run.findings();
        RunTables tables = new RunTables(measures, run.header.workload().isClosed());
        tables.spread(run.out);
        tables.load(run.out);
        run.environment();
        run.again(journal);
        run.legs();
        return run.out.build();
    }

    /** Returns what decided, for an issue, a pull request or a log: as much as fits there. */
    public static Document text(Result result, RunMeasures measures, String journal) {
        RunDocument run = new RunDocument(result);
        run.answer();
        run.comparisons();
        run.out.table(
                "Medians of the probes",
                List.of("arm", "cached tokens", "time to first token", "probes", "legs"),
                List.of(row("baseline", result.baseline()), row("pinned", result.pinned())));
        run.out.say(String.format(
                Locale.ROOT,
                "Medians of the probes; prefix of %d tokens, %s, %d pairs, seed %d, workload %.12s.",
                run.header.workload().prefixTokens(),
                run.header.engine().text(),
                run.header.plan().lives().size(),
                result.seed(),
                result.workloadId()));
        run.findings();
        RunTables tables = new RunTables(measures, run.header.workload().isClosed());
        tables.spread(run.out);
        tables.load(run.out);
        return run.out.pre("holdfast loadtest analyze " + journal).build();
    }

    /** Returns the numbers, the verdict and the findings. */
    public static Document brief(Result result) {
        RunDocument run = new RunDocument(result);
        run.numbers();
        RunFindings findings = RunFindings.of(result);
        run.out.add(new Items(findings.all().stream()
                .filter(item -> !item.what().equals(result.verdict().reason()))
                .map(item -> new Item(
                        item.severity() == RunFindings.Severity.HIGH ? "HIGH" : "note", item.what(), item.evidence()))
                .toList()));
        return run.out.items(findings.failures().lines()).build();
    }

    /** Returns both arms, the three figures that are easily confused, and the verdict with its reason. */
    public static Document numbers(Result result) {
        RunDocument run = new RunDocument(result);
        run.numbers();
        return run.out.build();
    }

    /** The verdict and the effect in one line. */
    public static String summary(Result result) {
        return result.headline()
                + PlainVerdict.effect(result).map(effect -> ": " + effect).orElse("");
    }

    private void answer() {
        List<Paragraph> words = new ArrayList<>();
        PlainVerdict.partial(result).ifPresent(partial -> words.add(new Paragraph(Voice.LEAD, "", partial)));
        words.addFirst(new Paragraph(
                Voice.PLAIN,
                result.headline(),
                "(" + PlainVerdict.meaning(result.verdict()) + ")"
                        + PlainVerdict.effect(result)
                                .map(effect -> ": " + effect)
                                .orElse("") + "."));
        words.add(new Paragraph(Voice.NOTE, "", result.verdict().reason()));
        out.add(new Answer(
                PlainVerdict.mood(result),
                "Did holding help?",
                PlainVerdict.answer(result),
                PlainVerdict.cards(result),
                PlainVerdict.sure(result),
                words));
    }

    private void comparisons() {
        List<Change> changes = PlainVerdict.comparisons(result);
        out.add(new Intervals(changes, header.criteria().delta()));
    }

    private void numbers() {
        List<String> lines = new ArrayList<>();
        lines.add("                cached tokens        TTFT   (medians of the probes)");
        lines.add(line("baseline", result.baseline()));
        lines.add(line("pinned", result.pinned()));
        List<QuantileRange> pinned = result.pinned().quantiles();
        List<QuantileRange> baseline = result.baseline().quantiles();
        IntStream.range(0, Math.min(baseline.size(), pinned.size()))
                .mapToObj(i -> String.format(
                        Locale.ROOT,
                        "p%-4.0f %-32s %s",
                        100 * baseline.get(i).quantile(),
                        "baseline " + range(baseline.get(i)),
                        "pinned " + range(pinned.get(i))))
                .forEach(lines::add);
        lines.addAll(engines());
        out.pre(String.join("\n", lines));
        ownRequests();
        Floods.of(header, result.legs()).map(RunDocument::waited).ifPresent(out::say);
        comparisons();
        out.say("VERDICT:", result.headline());
        result.lookedAt().ifPresent(out::say);
        out.say(result.verdict().reason());
        out.say("Judged by " + judgedBy() + ".");
        if (result.metrics().size() > 1) {
            out.items(result.metrics().stream()
                    .map(metric -> metric.statistic() + ": " + metric.verdict().headline()
                            + metric.verdict()
                                    .estimate()
                                    .shown()
                                    .map(of -> ", " + Shown.change(of.effect()) + ", 95 % interval "
                                            + Shown.interval(of.ci95())
                                            + (of.normalOrder() ? PlainVerdict.NORMAL_ORDER : ""))
                                    .orElse(""))
                    .toList());
        }
    }

    private static String line(String name, ArmSummary arm) {
        return String.format(
                Locale.ROOT,
                "%-10s      %13s  %10s",
                name,
                Shown.number("%.0f", arm.cachedTokens()),
                Shown.number("%.1f ms", arm.ttftMillis()));
    }

    private static List<String> row(String name, ArmSummary arm) {
        return List.of(
                name,
                Shown.number("%.0f", arm.cachedTokens()),
                Shown.number("%.1f ms", arm.ttftMillis()),
                Integer.toString(arm.probes()),
                Integer.toString(arm.legs()));
    }

    /** Shows a quantile; a bound that so few probes do not give is left out. */
    private static String range(QuantileRange of) {
        return String.format(Locale.ROOT, "%.1f ms", of.value())
                + of.ci95()
                        .map(ci -> String.format(Locale.ROOT, " (%.1f to %.1f)", ci.low(), ci.high()))
                        .orElse("");
    }

    /** Returns what each of several engines had of the load; of one alone it is what stands above. */
    private List<String> engines() {
        List<EngineShare> baseline = Shares.of(result.measured(Arm.BASELINE));
        List<EngineShare> pinned = Shares.of(result.measured(Arm.PINNED));
        if (baseline.size() < 2) {
            return List.of();
        }
        List<String> lines = new ArrayList<>(List.of("prompt tokens by engine, and how much of them was cached:"));
        for (EngineShare share : baseline) {
            String other = pinned.stream()
                    .filter(each -> each.engine().equals(share.engine()))
                    .map(each -> "pinned " + share(each))
                    .findFirst()
                    .orElse("");
            lines.add(
                    String.format(Locale.ROOT, "  %-28s %-28s %s", share.engine(), "baseline " + share(share), other));
        }
        return lines;
    }

    private static String share(EngineShare of) {
        return Shown.count(of.promptTokens())
                + (of.cachedTokens().isPresent() && of.promptTokens() > 0
                        ? String.format(
                                Locale.ROOT,
                                ", %.1f %%",
                                100.0 * of.cachedTokens().getAsLong() / of.promptTokens())
                        : "");
    }

    /** Adds what the switch sent: a hold by requests has its price. */
    private void ownRequests() {
        OwnRequests pinned = result.own(Arm.PINNED);
        OwnRequests baseline = result.own(Arm.BASELINE);
        if (pinned.requests() + baseline.requests() > 0) {
            out.say("The arm sent requests of its own, which are no load: " + own("pinned", pinned) + ", and "
                    + own("baseline", baseline) + ".");
        }
    }

    private static String own(String arm, OwnRequests sent) {
        double legs = Math.max(1, sent.legs());
        return String.format(
                Locale.ROOT,
                "%.0f with %s prefilled in a %s leg",
                sent.requests() / legs,
                sent.prefilledTokens().isPresent()
                        ? String.format(
                                Locale.ROOT,
                                "%,.0f tokens",
                                sent.prefilledTokens().getAsLong() / legs)
                        : "an unknown number of tokens",
                arm);
    }

    /** Describes the waits, from both origins, of requests of floods that came at times of their own. */
    public static String waited(Floods floods) {
        return String.format(
                        Locale.ROOT,
                        "The %,d requests of floods came by %s: %s to the first token from when one was sent, %s from"
                                + " when its turn came (medians); 1 %% were sent more than %s after their turn",
                        floods.requests(),
                        floods.arrivals(),
                        Shown.number("%.1f ms", floods.ttftMillis()),
                        Shown.number("%.1f ms", floods.ttftFromTurnMillis()),
                        Shown.number("%.2f ms", floods.lateMillis()))
                + (floods.notSent() == 0
                        ? "."
                        : String.format(
                                Locale.ROOT,
                                ", and %,d could not be sent, since as many were under way as may be.",
                                floods.notSent()));
    }

    private void gates() {
        out.heading(3, "What was checked");
        if (result.verdict().finding() == Finding.INVALID) {
            out.say("Failed.", result.verdict().reason());
            out.note("What has to hold in each leg and among all of them:");
        } else {
            long legs = result.legs().stream().filter(LegRecord::isMeasured).count();
            out.say("All held,", "in " + legs + " legs:");
        }
        out.items(List.of(
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
    }

    private void findings() {
        RunFindings findings = RunFindings.of(result);
        if (findings.all().isEmpty()) {
            out.say("Nothing is left to look into: every gate held and nothing was odd.");
        } else {
            out.add(new Items(findings.all().stream()
                    .map(item -> new Item(item.severity().text(), item.what(), item.evidence()))
                    .toList()));
        }
        if (!findings.failures().failing().isEmpty()) {
            out.note(FAILED).items(findings.failures().lines());
        }
    }

    private void environment() {
        List<Fact> facts = new ArrayList<>();
        facts.add(new Fact("server", header.unit()));
        header.client().entrySet().stream()
                .filter(entry -> !entry.getValue().isBlank())
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> facts.add(new Fact(entry.getKey(), entry.getValue())));
        facts.add(new Fact("engine", header.engine().text()));
        facts.add(new Fact("pinned legs", header.holder()));
        facts.add(new Fact(
                "workload",
                header.workload().name() + ", prefix " + header.workload().prefixTokens() + " tokens, pressure "
                        + header.workload().pressureTokens() + " tokens, id " + result.workloadId()));
        facts.add(new Fact(
                "plan",
                header.plan().lives().size() + " pairs: "
                        + header.plan().rounds().stream()
                                .map(round ->
                                        round.stream().map(PairOrder::name).collect(Collectors.joining(" ")))
                                .collect(Collectors.joining(" | "))
                        + "; seed " + result.seed()));
        facts.add(new Fact(
                "isolation",
                header.isSalted()
                        ? "each leg's texts begin with a salt of their own"
                        : "the cache is emptied before each leg"));
        facts.add(new Fact("judged by", judgedBy()));
        facts.add(new Fact(
                "other runs",
                "not corrected for: of many runs in which nothing happens a few look like an effect, so say how many"
                        + " there were, or have one sweep judge them together"));
        facts.add(new Fact("begun", header.startedAt()));
        out.heading(3, "How it was measured").facts(facts);
    }

    /** Describes what judged: without it nobody knows what the word of a verdict means. */
    private String judgedBy() {
        Criteria criteria = header.criteria();
        List<Integer> looks = header.plan().looks();
        return result.metrics().stream()
                        .map(metric -> metric.statistic().text())
                        .collect(Collectors.joining(", and by "))
                + String.format(
                        Locale.ROOT,
                        "; an effect counts from %.1f %% on, at a level of %.0f %%, with at least %d %s",
                        Shown.growth(criteria.delta()),
                        100 * criteria.alpha(),
                        criteria.minimumPerOrder(),
                        header.plan().design() == Design.BLOCKS ? "blocks of each kind" : "pairs of each order")
                + (looks.isEmpty()
                        ? ""
                        : "; the level is shared out among looks at the data after "
                                + looks.stream().map(String::valueOf).collect(Collectors.joining(", ")) + " rounds")
                + (result.metrics().size() > 1
                        ? "; p values are corrected for " + result.metrics().size() + " numbers (Holm)"
                        : "");
    }

    private void again(String journal) {
        out.heading(3, "To do it again");
        RunCommand.of(header)
                .ifPresent(command -> out.note("The same experiment, with the same requests in the same order:")
                        .pre(command));
        String file = RunCommand.quoted(journal);
        out.note("The same answer from the same data:")
                .pre("holdfast loadtest analyze " + file + "\nholdfast loadtest report " + file);
    }

    private void legs() {
        int prefix = header.workload().prefixTokens();
        out.heading(3, "All legs, those that do not count included");
        out.table(
                "All legs",
                List.of("leg", "arm", header.statistic().name() + ", ms", "prefix found", "probes", "problem"),
                result.legs().stream()
                        .map(leg -> List.of(
                                leg.label() + (leg.isMeasured() ? "" : " (does not count)"),
                                leg.arm().name().toLowerCase(Locale.ROOT),
                                Shown.number("%.1f", header.statistic().of(leg.requests())),
                                Analysis.hitShare(leg, prefix).stream()
                                        .mapToObj(Shown::share)
                                        .findFirst()
                                        .orElse("unknown"),
                                leg.probes().stream()
                                                .filter(RequestRecord::isOk)
                                                .count() + " of " + leg.probes().size(),
                                leg.problem().orElse("")))
                        .toList());
    }
}
