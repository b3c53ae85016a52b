package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CacheProof;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Engines' own counts beside what their answers said of single requests. The two come from different parts of an
 * engine, and the counters include requests that anybody else sends.
 */
public final class Shares {
    private static final double TOLERANCE = 0.01;

    private Shares() {}

    /** All that each engine counted in these legs, by its address. */
    public static List<EngineShare> of(List<LegRecord> legs) {
        Map<String, EngineShare> byEngine = new TreeMap<>();
        legs.stream()
                .flatMap(leg -> leg.shares().stream())
                .forEach(share -> byEngine.merge(share.engine(), share, Shares::sum));
        return List.copyOf(byEngine.values());
    }

    private static EngineShare sum(EngineShare one, EngineShare other) {
        return new EngineShare(
                one.engine(),
                one.promptTokens() + other.promptTokens(),
                one.cachedTokens().isPresent() && other.cachedTokens().isPresent()
                        ? OptionalLong.of(one.cachedTokens().getAsLong()
                                + other.cachedTokens().getAsLong())
                        : OptionalLong.empty());
    }

    /** Returns the contradictions between the engines' counters and their answers, one sentence each. */
    static List<String> contradictions(RunHeader header, List<LegRecord> measured) {
        List<LegRecord> legs =
                measured.stream().filter(Shares::canBeHeldAgainstAnswers).toList();
        List<RequestRecord> answered = legs.stream().flatMap(Shares::all).toList();
        long sent = sent(legs);
        if (sent == 0) {
            return List.of();
        }
        List<EngineShare> shares = of(legs);
        long counted = counted(legs);
        List<String> told = new ArrayList<>();
        List<LegRecord> baseline = inArm(legs, Arm.BASELINE);
        List<LegRecord> pinned = inArm(legs, Arm.PINNED);
        if (!baseline.isEmpty() && !isBeyond(baseline) && isBeyond(pinned)) {
            // Other users of the server would have used it in baseline legs as well.
            told.add(String.format(
                    Locale.ROOT,
                    "In the pinned legs the server counted %,d prompt tokens more than were sent, and in the baseline"
                        + " legs no more: what switches the arm, such as a sidecar, sends requests of its own, which"
                        + " are no load.",
                    counted(pinned) - sent(pinned)));
        } else if (isBeyond(legs)) {
            told.add(String.format(
                    Locale.ROOT,
                    "The server counted %,d prompt tokens in %d legs, and the answers to what was sent in them have"
                            + " %,d: somebody else uses it as well; measure on one that serves nobody else.",
                    counted,
                    legs.size(),
                    sent));
        } else if (counted < sent * (1 - TOLERANCE)) {
            told.add(String.format(
                    Locale.ROOT,
                    "The server counted %,d prompt tokens in %d legs, and the answers to what was sent in them have"
                            + " %,d: a part of it was served elsewhere; name each engine behind a router by --engine.",
                    counted,
                    legs.size(),
                    sent));
        } else {
            cached(header, shares, answered, told);
        }
        return told;
    }

    private static List<LegRecord> inArm(List<LegRecord> legs, Arm arm) {
        return legs.stream().filter(leg -> leg.arm() == arm).toList();
    }

    private static long sent(List<LegRecord> legs) {
        return legs.stream()
                .flatMap(Shares::all)
                .mapToLong(request -> request.promptTokens().orElse(0))
                .sum();
    }

    private static long counted(List<LegRecord> legs) {
        return of(legs).stream().mapToLong(EngineShare::promptTokens).sum();
    }

    private static boolean isBeyond(List<LegRecord> legs) {
        return counted(legs) > sent(legs) * (1 + TOLERANCE);
    }

    private static void cached(
            RunHeader header, List<EngineShare> shares, List<RequestRecord> answered, List<String> told) {
        boolean known = shares.stream().allMatch(share -> share.cachedTokens().isPresent())
                && answered.stream().allMatch(request -> request.cachedTokens().isPresent());
        if (!known) {
            return;
        }
        double tokens = answered.stream()
                .mapToLong(request -> request.promptTokens().orElse(0))
                .sum();
        double byAnswers = answered.stream()
                        .mapToLong(request -> request.cachedTokens().orElse(0))
                        .sum()
                / tokens;
        double byCounters = shares.stream()
                        .mapToLong(share -> share.cachedTokens().orElse(0))
                        .sum()
                / tokens;
        double near = CacheProof.threshold(
                header.engine().pageTokensOrUsual(), (int) Math.max(1, Math.round(tokens / answered.size())));
        if (Math.abs(byAnswers - byCounters) > near) {
            told.add(String.format(
                    Locale.ROOT,
                    "By the answers %.1f %% of all prompt tokens were cached, and by the server's own counters %.1f %%:"
                            + " one of the two is wrong, so take the cached tokens of this run for no proof.",
                    100 * byAnswers,
                    100 * byCounters));
        }
    }

    /** Returns true if the engines counted at least all that was sent in a leg. */
    static boolean isWhole(LegRecord leg) {
        return canBeHeldAgainstAnswers(leg) && counted(List.of(leg)) >= sent(List.of(leg)) * (1 - TOLERANCE);
    }

    /** Returns true if they counted that and nothing else. */
    static boolean isOfThisLegAlone(LegRecord leg) {
        return isWhole(leg) && !isBeyond(List.of(leg));
    }

    /** Returns true if counters can be compared with answers: nobody knows how much of a failed request was counted. */
    private static boolean canBeHeldAgainstAnswers(LegRecord leg) {
        return !leg.shares().isEmpty()
                && all(leg).allMatch(request ->
                        request.isOk() && request.promptTokens().isPresent());
    }

    private static Stream<RequestRecord> all(LegRecord leg) {
        return Stream.concat(leg.requests().stream(), leg.own().stream());
    }
}
