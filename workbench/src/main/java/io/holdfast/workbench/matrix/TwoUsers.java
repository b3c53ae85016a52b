package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Experience of two users in one leg, all of it from stamps. Milliseconds; the wall begins when A's request was sent.
 *
 * @param bTtft from when B's own request was sent
 * @param bTtftScheduled from when B's turn came
 * @param bTtftFromWall from when A's request was sent: the only one of the three that compares modes
 * @param bSentFromWall when B's request was sent
 * @param aOverFromWall when A had its last token
 * @param systemTps tokens of both answers in a second of the wall
 * @param aTps tokens of A's answer in a second, from A's request to A's last token
 * @param aItlOutside A's mean time between tokens while B's prompt was not being read
 * @param aItlDuring the same while it was; absent where no token of A came then
 */
public record TwoUsers(
        String id,
        Staggered.Mode mode,
        int context,
        int pair,
        double aTtft,
        double bTtft,
        double bTtftScheduled,
        double bTtftFromWall,
        double bSentFromWall,
        double aOverFromWall,
        double wall,
        double systemTps,
        double aTps,
        OptionalDouble aItlOutside,
        OptionalDouble aItlDuring) {
    private static final double MILLI = 1e6;

    /** Returns the users of a leg; absent where it is another kind of leg, or not both were answered. */
    public static Optional<TwoUsers> of(LoadLeg leg) {
        List<RequestRecord> users = leg.of(Staggered.USERS);
        if (users.size() != 2
                || !leg.settings().containsKey(Staggered.MODE)
                || users.stream().anyMatch(user -> user.ttftMillis().isEmpty())) {
            return Optional.empty();
        }
        RequestRecord a = users.getFirst();
        RequestRecord b = users.getLast();
        double wall = (Math.max(last(a), last(b)) - a.sent()) / MILLI;
        int tokens = tokens(a, leg) + tokens(b, leg);
        Gaps gaps = Gaps.of(a, b);
        return Optional.of(new TwoUsers(
                leg.id(),
                Staggered.Mode.valueOf(
                        leg.settings().getOrDefault(Staggered.MODE, "").toUpperCase(Locale.ROOT)),
                Integer.parseInt(leg.settings().getOrDefault(CacheMatrix.CONTEXT, "")),
                Integer.parseInt(leg.settings().getOrDefault(Staggered.PAIR, "")),
                a.ttftMillis().orElseThrow(),
                b.ttftMillis().orElseThrow(),
                (b.firstToken().orElseThrow() - b.scheduled()) / MILLI,
                (b.firstToken().orElseThrow() - a.sent()) / MILLI,
                (b.sent() - a.sent()) / MILLI,
                (last(a) - a.sent()) / MILLI,
                wall,
                1e3 * tokens / wall,
                1e3 * tokens(a, leg) / ((last(a) - a.sent()) / MILLI),
                gaps.outside(),
                gaps.during()));
    }

    private static long last(RequestRecord user) {
        return user.lastToken().orElse(user.done());
    }

    private static int tokens(RequestRecord user, LoadLeg leg) {
        return user.completionTokens()
                .orElseGet(() -> Integer.parseInt(leg.settings().getOrDefault(CacheMatrix.ANSWER, "")));
    }

    /** Returns true if B asked while A was still being served. */
    public boolean met() {
        return bSentFromWall < aOverFromWall;
    }

    /**
     * Returns the factor by which A's tokens came slower while B's prompt was being read; absent where that cannot be
     * told.
     */
    public OptionalDouble interleaving() {
        return aItlDuring.isPresent() && aItlOutside.isPresent() && aItlOutside.getAsDouble() > 0
                ? OptionalDouble.of(aItlDuring.getAsDouble() / aItlOutside.getAsDouble())
                : OptionalDouble.empty();
    }

    /**
     * Its result with what compares modes in place of what does not: no time to a first token of any request here
     * begins where that of another mode does.
     */
    public static LoadResult comparable(LoadLeg leg, LoadResult result) {
        return of(leg).map(users -> {
                    Map<Metric, Double> values = new LinkedHashMap<>();
                    result.measures().values().forEach((metric, value) -> {
                        if (!metric.name().startsWith("ttf") && !metric.name().startsWith("e2e")) {
                            values.put(metric, value);
                        }
                    });
                    values.put(Metric.USER_A_TTFT, users.aTtft);
                    values.put(Metric.USER_B_TTFT_FROM_WALL_START, users.bTtftFromWall);
                    return new LoadResult(
                            result.id(),
                            result.workload(),
                            result.workloadId(),
                            result.source(),
                            result.settings(),
                            result.requests(),
                            result.failures(),
                            new Measures(values));
                })
                .orElse(result);
    }

    /**
     * Reports two users together that make fewer tokens in a second than one alone at the same length.
     *
     * @param two tokens in a second of both
     * @param one of one alone
     */
    public static Optional<String> implausible(double two, double one, int context) {
        return two < one
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "Two users make %.1f tokens a second at %,d tokens of prompt, one alone %.1f: together they"
                                + " should make no fewer, so look at what the server does with the second one.",
                        two,
                        context,
                        one))
                : Optional.empty();
    }

    /** A's times between tokens, by whether B's prompt was being read for most of each. */
    private record Gaps(List<Double> before, List<Double> in, List<Double> after) {
        private static final int ENOUGH = 3;

        static Gaps of(RequestRecord a, RequestRecord b) {
            Gaps gaps = new Gaps(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
            double at = a.firstToken().orElseThrow();
            double asked = b.sent();
            double read = b.firstToken().orElseThrow();
            for (double gap : a.tokens().gapsMillis()) {
                double end = at + gap * MILLI;
                double within = Math.min(end, read) - Math.max(at, asked);
                (2 * within >= end - at ? gaps.in : (at + end) / 2 < asked ? gaps.before : gaps.after).add(gap);
                at = end;
            }
            return gaps;
        }

        OptionalDouble during() {
            return mean(in);
        }

        /**
         * Returns the mean before B asked, where A was being answered by then; otherwise once B is being answered as
         * well.
         */
        OptionalDouble outside() {
            return mean(before.size() >= ENOUGH ? before : after);
        }

        private static OptionalDouble mean(List<Double> gaps) {
            return gaps.stream().mapToDouble(Double::doubleValue).average();
        }
    }
}
