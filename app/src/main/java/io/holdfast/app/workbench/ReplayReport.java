package io.holdfast.app.workbench;

import io.holdfast.app.cli.HeadFindings;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.loadtest.report.Json;
import io.holdfast.loadtest.report.Svg;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplayResult;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Results of a replay by capacity: a table, JSON, or a picture. */
final class ReplayReport {
    /** One capacity: the policy between what is there anyway and what could be had at best. */
    private record Line(ReplayResult found, ReplayResult lru, ReplayResult optimum) {
        double gainPoints() {
            return 100 * (found.hitRatio() - lru.hitRatio());
        }

        double gap() {
            return 100 * (optimum.hitRatio() - lru.hitRatio());
        }
    }

    private final Trace trace;
    private final String policy;
    private final boolean showText;
    private final List<Line> lines = new ArrayList<>();

    /** @param showText whether tokens of prompts may be told */
    ReplayReport(Trace trace, String policy, boolean showText) {
        this.trace = trace;
        this.policy = policy;
        this.showText = showText;
    }

    void add(ReplayResult found, ReplayResult lru, ReplayResult optimum) {
        lines.add(new Line(found, lru, optimum));
    }

    void begin(TerminalText text) {
        text.line(String.format(
                Locale.ROOT,
                "%s: %,d requests, %,d blocks of %d tokens, %,d of them different.",
                trace.name(),
                trace.requests(),
                trace.references(),
                trace.blockTokens(),
                trace.uniqueBlocks()));
        trace.recorded()
                .filter(recorded -> recorded.headless() > 0)
                .ifPresent(recorded -> text.paragraph(
                        "  ",
                        String.format(
                                Locale.ROOT,
                                "Left out: %,d requests that go on from blocks which were stored before the recording.",
                                recorded.headless())));
        text.blank();
        text.line("                 blocks found, share of all            pins and");
        text.line("    capacity      LRU  " + pad(policy) + "  optimum       gain     unpins   licensed");
    }

    void line(TerminalText text) {
        Line line = lines.getLast();
        text.line(String.format(
                Locale.ROOT,
                "%,12d  %5.1f %%  %7.1f %%  %5.1f %%  %+6.2f points %,9d  %7.0f %%",
                line.found().capacity(),
                100 * line.lru().hitRatio(),
                100 * line.found().hitRatio(),
                100 * line.optimum().hitRatio(),
                line.gainPoints(),
                line.found().pinOperations(),
                100 * line.found().openShare()));
    }

    void end(TerminalText text) {
        double gains = lines.stream().mapToDouble(Line::gainPoints).sum();
        double gaps = lines.stream().mapToDouble(Line::gap).sum();
        text.blank();
        if (gaps > 0) {
            text.paragraph(
                    "  ",
                    String.format(
                            Locale.ROOT,
                            "Of what lies between LRU and a cache that knew the future, %s takes %.1f %% over these"
                                    + " capacities.",
                            policy,
                            100 * gains / gaps));
        } else {
            text.paragraph("  ", "LRU finds all that can be found: there is nothing for a hold to win.");
        }
        int refused = lines.stream()
                .flatMap(line -> line.found().refused().stream())
                .mapToInt(ReplayResult.Refused::requests)
                .max()
                .orElse(0);
        if (refused > 0) {
            text.paragraph(
                    "  ",
                    String.format(
                            Locale.ROOT,
                            "The smallest cache has no room for %,d of the requests: they were refused, as the engine"
                                    + " does, and count as blocks that were not found.",
                            refused));
        }
        trace.recorded()
                .ifPresent(recorded -> HeadFindings.of(recorded, showText).print(text));
    }

    String json() {
        return lines.stream().map(this::json).map(Json::line).collect(Collectors.joining(",", "[", "]"));
    }

    private Json json(Line line) {
        ReplayResult found = line.found();
        Json node = Json.object()
                .put("policy", policy)
                .put("capacity", found.capacity())
                .put("hits", found.hits())
                .put("references", found.references())
                .put("hitRatio", found.hitRatio())
                .put("lruHits", line.lru().hits())
                .put("optimumHits", line.optimum().hits())
                .put("gainPoints", line.gainPoints());
        if (line.gap() > 0) {
            node.put("gapShare", line.gainPoints() / line.gap());
        }
        node.put("pinOperations", found.pinOperations())
                .known("holdOperations", found.holdOperations())
                .put("pinsGivenUp", found.pinsGivenUp())
                .put("gateChanges", found.gateChanges())
                .put("licensedShare", found.openShare())
                .known("refusedRequests", found.refused().map(ReplayResult.Refused::requests))
                .known("refusedHolds", found.refused().map(ReplayResult.Refused::holds));
        trace.recorded()
                .ifPresent(recorded -> node.put("headlessRequests", recorded.headless())
                        .put(
                                "unstableHeads",
                                HeadFindings.of(recorded, showText).json()));
        return node;
    }

    /** Draws the curves of LRU, of the policy unless it is one of the other two, and of the optimum. */
    String svg() {
        List<Series> curves = new ArrayList<>(List.of(curve("LRU", "a", Line::lru)));
        if (!policy.equals("lru") && !policy.equals("optimum")) {
            curves.add(curve(policy, "b", Line::found));
        }
        curves.add(curve("optimum", "c", Line::optimum));
        double[] ends =
                curves.getFirst().points().stream().mapToDouble(Point::x).toArray();
        return Svg.picture(new Plot(
                trace.name() + ": what a cache finds, by its capacity",
                "",
                Axis.logarithmic(
                        "capacity, blocks of " + trace.blockTokens() + " tokens, as a logarithm",
                        0.9 * ends[0],
                        1.1 * ends[ends.length - 1],
                        "%,.0f"),
                Axis.upTo(
                        "blocks found, % of all",
                        curves.stream()
                                .flatMap(curve -> curve.points().stream())
                                .mapToDouble(Point::y)
                                .max()
                                .orElse(0),
                        "%.0f"),
                curves));
    }

    private Series curve(String name, String style, Function<Line, ReplayResult> of) {
        List<ReplayResult> found = lines.stream()
                .map(of)
                .sorted(Comparator.comparingInt(ReplayResult::capacity))
                .toList();
        return new Series(
                name + " " + shown(found.getLast()),
                style,
                Shape.LINE,
                found.stream()
                        .map(each -> new Point(
                                each.capacity(),
                                100 * each.hitRatio(),
                                String.format(Locale.ROOT, "%s, %,d blocks: %s", name, each.capacity(), shown(each))))
                        .toList());
    }

    private static String shown(ReplayResult found) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * found.hitRatio());
    }

    private static String pad(String name) {
        return " ".repeat(Math.max(0, 9 - name.length())) + name;
    }
}
