package io.holdfast.workbench.matrix;

import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.Shown;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/** Experience of two users at one length of prompts in both modes, and whether serving them together helps. */
public record StaggeredReport(
        int context, List<TwoUsers> legs, Optional<Verdict> verdict, int pairs, List<String> findings) {
    private static final int FORMAT = 1;

    public StaggeredReport {
        legs = List.copyOf(legs);
        findings = List.copyOf(findings);
    }

    /**
     * One for each length.
     *
     * @param judged whether the plan has what a verdict needs
     */
    public static List<StaggeredReport> of(List<LoadLeg> legs, boolean judged) {
        Map<Integer, List<LoadLeg>> byContext = new LinkedHashMap<>();
        legs.stream()
                .filter(leg -> leg.settings().containsKey(Staggered.MODE))
                .forEach(leg -> byContext
                        .computeIfAbsent(
                                Integer.parseInt(leg.settings().getOrDefault(CacheMatrix.CONTEXT, "")),
                                any -> new ArrayList<>())
                        .add(leg));
        Map<Integer, PairedLegs> walls = new LinkedHashMap<>();
        Map<Integer, Integer> planned = new LinkedHashMap<>();
        byContext.forEach((context, its) -> {
            Collection<List<LoadLeg>> pairs = pairs(its);
            walls.put(context, walls(pairs));
            planned.put(context, pairs.size());
        });
        Map<Integer, Verdict> verdicts = judged ? PairedLegs.verdicts(walls, planned) : Map.of();
        List<StaggeredReport> reports = new ArrayList<>();
        walls.forEach((context, its) -> {
            List<TwoUsers> users = byContext.getOrDefault(context, List.of()).stream()
                    .flatMap(leg -> TwoUsers.of(leg).stream())
                    .toList();
            reports.add(new StaggeredReport(
                    context, users, Optional.ofNullable(verdicts.get(context)), its.pairs(), findings(context, users)));
        });
        return reports;
    }

    private static Collection<List<LoadLeg>> pairs(List<LoadLeg> legs) {
        Map<Integer, List<LoadLeg>> pairs = new LinkedHashMap<>();
        legs.forEach(leg -> pairs.computeIfAbsent(
                        Integer.parseInt(leg.settings().getOrDefault(Staggered.PAIR, "")), any -> new ArrayList<>())
                .add(leg));
        return pairs.values();
    }

    private static PairedLegs walls(Collection<List<LoadLeg>> pairs) {
        PairedLegs walls = new PairedLegs();
        pairs.forEach(pair -> {
            List<TwoUsers> both =
                    pair.stream().flatMap(leg -> TwoUsers.of(leg).stream()).toList();
            if (both.size() == 2) {
                walls.add(
                        PairOrder.valueOf(pair.getFirst().settings().getOrDefault(Staggered.ORDER, "")),
                        both.getFirst().wall(),
                        both.getLast().wall());
            }
        });
        return walls;
    }

    private static List<String> findings(int context, List<TwoUsers> users) {
        List<TwoUsers> together = users.stream()
                .filter(each -> each.mode() == Staggered.Mode.BATCHED)
                .toList();
        if (together.stream().anyMatch(each -> !each.met())) {
            return List.of(String.format(
                    Locale.ROOT,
                    "At %,d tokens user B came when user A had been answered, so the two were never together; let B"
                            + " come earlier by --delay, or ask for longer prompts.",
                    context));
        }
        OptionalDouble both = together.stream().mapToDouble(TwoUsers::systemTps).average();
        OptionalDouble alone = users.stream()
                .filter(each -> each.mode() == Staggered.Mode.SEQUENTIAL)
                .mapToDouble(TwoUsers::aTps)
                .average();
        return both.isPresent() && alone.isPresent()
                ? TwoUsers.implausible(both.getAsDouble(), alone.getAsDouble(), context).stream()
                        .toList()
                : List.of();
    }

    private OptionalDouble mean(Staggered.Mode mode, ToDoubleFunction<TwoUsers> of) {
        return legs.stream().filter(each -> each.mode() == mode).mapToDouble(of).average();
    }

    /** A row for each figure, a column for each mode; the head first. */
    public List<List<String>> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of(String.format(Locale.ROOT, "%,d tokens", context), "sequential", "batched"));
        rows.add(row("user A TTFT", "%,.0f ms", TwoUsers::aTtft));
        rows.add(row("user B TTFT, from A's request", "%,.0f ms", TwoUsers::bTtftFromWall));
        rows.add(row("user B TTFT, from B's own request", "%,.0f ms", TwoUsers::bTtft));
        rows.add(row("B's request after A's", "%,.0f ms", TwoUsers::bSentFromWall));
        rows.add(row("wall", "%,.0f ms", TwoUsers::wall));
        rows.add(row("system tokens/s", "%.2f", TwoUsers::systemTps));
        rows.add(List.of(
                "A's ITL while B's prompt is read, to otherwise",
                interleaving(Staggered.Mode.SEQUENTIAL),
                interleaving(Staggered.Mode.BATCHED)));
        return rows;
    }

    private List<String> row(String name, String format, ToDoubleFunction<TwoUsers> of) {
        List<String> row = new ArrayList<>(List.of(name));
        for (Staggered.Mode mode : Staggered.Mode.values()) {
            row.add(Shown.number(format, mean(mode, of), "-"));
        }
        return row;
    }

    private String interleaving(Staggered.Mode mode) {
        return Shown.number(
                "%.1f x",
                legs.stream()
                        .filter(each -> each.mode() == mode)
                        .flatMapToDouble(each -> each.interleaving().stream())
                        .average(),
                "-");
    }

    /** States in sentences whether serving both together helps. */
    public List<String> says() {
        List<String> lines = new ArrayList<>();
        verdict.ifPresent(judged -> lines.add(String.format(
                Locale.ROOT,
                "Serving both together at %,d tokens, by the wall of %d pairs of legs: %s. %s",
                context,
                pairs,
                judged.headline(),
                judged.reason())));
        lines.addAll(findings);
        return lines;
    }

    /** All of them as they stand in a file. */
    public static String json(List<StaggeredReport> reports) {
        return Json.object()
                        .put("format", FORMAT)
                        .put(
                                "contexts",
                                reports.stream().map(StaggeredReport::json).toList())
                        .text()
                + "\n";
    }

    private Json json() {
        return Json.object()
                .put("context_tokens", context)
                .known(
                        "verdict",
                        verdict.map(of -> Json.object()
                                .put("finding", of.finding())
                                .put("headline", of.headline())
                                .put("reason", of.reason())
                                .put("pairs", pairs)
                                .known("wall_change_percent", of.estimate().effectPercent())
                                .known(
                                        "wall_change_percent_ci95",
                                        of.estimate()
                                                .ci95()
                                                .map(ci -> List.of(Shown.growth(ci.low()), Shown.growth(ci.high()))))))
                .put("findings", findings)
                .put("legs", legs.stream().map(StaggeredReport::json).toList());
    }

    private static Json json(TwoUsers leg) {
        return Json.object()
                .put("id", leg.id())
                .put("mode", leg.mode().word())
                .put("pair", leg.pair())
                .put("user_a_ttft_ms", leg.aTtft())
                .put("user_b_ttft_from_wall_start", leg.bTtftFromWall())
                .put("user_b_ttft_from_scheduled_ms", leg.bTtftScheduled())
                .put("user_b_ttft_from_sent_ms", leg.bTtft())
                .put("user_b_sent_from_wall_start_ms", leg.bSentFromWall())
                .put("wall_ms", leg.wall())
                .put("system_tokens_per_second", leg.systemTps())
                .known("user_a_itl_ratio_during_prefill", leg.interleaving());
    }
}
