package io.holdfast.app.workbench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.HeadFindings;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.ReplayResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Function;

/** What a replay found, by capacity: a table, JSON, or a picture. */
final class ReplayReport {
    private static final ObjectMapper JSON = new ObjectMapper();

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
        ArrayNode root = JSON.createArrayNode();
        for (Line line : lines) {
            ReplayResult found = line.found();
            ObjectNode node = root.addObject();
            node.put("policy", policy)
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
            node.put("pinOperations", found.pinOperations());
            found.holdOperations().ifPresent(operations -> node.put("holdOperations", operations));
            node.put("pinsGivenUp", found.pinsGivenUp())
                    .put("gateChanges", found.gateChanges())
                    .put("licensedShare", found.openShare());
            found.refused()
                    .ifPresent(refused ->
                            node.put("refusedRequests", refused.requests()).put("refusedHolds", refused.holds()));
            trace.recorded().ifPresent(recorded -> {
                node.put("headlessRequests", recorded.headless());
                HeadFindings.of(recorded, showText).into(node.putArray("unstableHeads"));
            });
        }
        try {
            return JSON.writeValueAsString(root);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("A tree of texts and numbers is always JSON.", e);
        }
    }

    /** The same as a picture; only what the policy is not itself stands beside it. */
    String svg() {
        ReplayPlot plot = new ReplayPlot(
                trace.name() + ": what a cache finds, by its capacity",
                "blocks of " + trace.blockTokens() + " tokens, as a logarithm");
        plot.lru(ratios(Line::lru));
        if (!policy.equals("lru") && !policy.equals("optimum")) {
            plot.policy(policy, ratios(Line::found));
        }
        return plot.optimum(ratios(Line::optimum)).svg();
    }

    private NavigableMap<Integer, Double> ratios(Function<Line, ReplayResult> of) {
        NavigableMap<Integer, Double> ratios = new TreeMap<>();
        for (Line line : lines) {
            ratios.put(line.found().capacity(), of.apply(line).hitRatio());
        }
        return ratios;
    }

    private static String pad(String name) {
        return " ".repeat(Math.max(0, 9 - name.length())) + name;
    }
}
