package io.holdfast.core;

import io.holdfast.core.index.EngineCaches;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.prefix.SharedPrefix;
import io.holdfast.core.rank.PrefixRank;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Says of a prefix what was decided about it and why, the prefixes about which nothing had to be decided included. */
final class Explainer {
    private final EngineObserver events;
    private final EngineCaches tree;
    private final Tick tick;

    Explainer(EngineObserver events, EngineCaches tree, Tick tick) {
        this.events = events;
        this.tree = tree;
        this.tick = tick;
    }

    PrefixReport report(SharedPrefix prefix, long blockTokens) {
        long last = prefix.lastBlock();
        return new PrefixReport(
                prefix,
                prefix.blocks() * blockTokens,
                tree.resident(last),
                tree.resident(last) && tree.pinned(last),
                lineAbout(last, tick.plan()).map(Plan.Line::reason).orElseGet(() -> whyNoLine(prefix)));
    }

    PrefixExplanation explain(Prefix prefix, long blockTokens) {
        int cached = tree.match(prefix);
        int held = 0;
        while (held < cached && tree.pinned(prefix.block(held))) {
            held++;
        }
        Optional<PrefixRank> rank = tick.byRank().flatMap(ranked -> ranked.rank(prefix));
        Optional<Plan.Line> line = lineOn(prefix, tick.plan());
        return new PrefixExplanation(
                prefix.blocks(),
                prefix.blocks() * blockTokens,
                cached,
                held,
                line,
                why(prefix, cached, held, line, rank),
                rank,
                tick.byRank().map(HoldsByRank::view).orElse(EngineView.ByRank.OFF));
    }

    private String why(Prefix prefix, int cached, int held, Optional<Plan.Line> line, Optional<PrefixRank> rank) {
        long last = prefix.block(prefix.blocks() - 1);
        if (line.filter(about -> about.prefix() == last).isPresent()) {
            return line.get().reason();
        }
        if (held == prefix.blocks()) {
            return "a longer path that is held goes over it";
        }
        String all = events.prefixes()
                .find(last)
                .filter(shared -> shared.losses() > 0)
                .map(this::whyNoLine)
                .orElseGet(() -> tick.byRank()
                        .map(ranked -> ranked.whyNot(rank))
                        .orElse("nobody requested it, and " + EngineView.ByRank.OFF.why()));
        String part = line.map(about -> "of its first " + tree.depth(about.prefix()) + " blocks: " + about.reason()
                        + "; of all of it: ")
                .orElse("");
        return part + (cached == 0 ? "nothing of it is in the cache; " : "") + all;
    }

    private static Optional<Plan.Line> lineAbout(long last, Plan plan) {
        return plan.lines().stream().filter(line -> line.prefix() == last).findFirst();
    }

    private static Optional<Plan.Line> lineOn(Prefix prefix, Plan plan) {
        Map<Long, Plan.Line> lines = plan.lines().stream()
                .collect(Collectors.toMap(Plan.Line::prefix, Function.identity(), (first, second) -> first));
        for (int depth = prefix.blocks(); depth > 0; depth--) {
            Plan.Line line = lines.get(prefix.block(depth - 1));
            if (line != null) {
                return Optional.of(line);
            }
        }
        return Optional.empty();
    }

    private String whyNoLine(SharedPrefix prefix) {
        if (tree.pinned(prefix.lastBlock())) {
            return "a longer path that is held goes over it";
        }
        if (prefix.losses() == 0) {
            return tree.resident(prefix.lastBlock())
                    ? "never lost: the cache keeps it without a hold"
                    : "not in the cache now, and no request has found it lost yet";
        }
        if (!prefix.worthHolding()) {
            return "seen before " + prefix.ways() + " continuations and by " + prefix.requests()
                    + " requests: from 3 of each on it is worth a hold";
        }
        return tick.holdsAutomatically()
                ? "not used within the lease of automatic holds"
                : "worth a hold, and automatic holds are off: ask for it, or write automaticHolds: true";
    }
}
