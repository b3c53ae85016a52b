package io.holdfast.core.effect;

import io.holdfast.evidence.CumulativeSum;
import io.holdfast.evidence.SequentialComparison;
import io.holdfast.evidence.SwitchbackFit;
import io.holdfast.evidence.WindowValue;
import java.util.Optional;

/** Notices, while holds are proven to help and seldom off, that this may be so no longer. */
final class ChangeWatch {
    /*
     * Holds that stop to help show in the on-windows, which come slower than they were when it was proven, all that was
     * measured besides being equal: a cumulative sum of how far they stray. A false alarm costs measuring anew and no
     * more, so nothing else that may have slowed them is looked for. Where the off-windows came faster instead, only
     * they show it, and they are few: each is compared with the on-windows around it, so that what moves both is no
     * change.
     *
     * What it compares with was estimated from a dozen windows where the gain is plain. So it is made anew, with the
     * windows that came since, as soon as these are as many; later that also follows what changes slowly.
     *
     * Strays of neighbours are alike; what one strays beyond what was expected after the last one is independent, and
     * is what is summed up.
     */
    private static final double ON_SLACK = 1;
    private static final double ON_LIMIT = 6;
    private static final double OFF_SLACK = 1;
    private static final double OFF_LIMIT = 3.5;
    private static final double MEMORY = 0.3;

    /** Quantities that are watched. */
    enum Of {
        /** Windows that hardly stray are no reason to see a change in half a percent. */
        TIMES(0.005, "windows without holds come faster than they did", "windows with holds come slower than they did"),
        /**
         * They hardly stray, and follow what users send; only holds that find much less, or are needed no more, are a
         * change.
         */
        TOKENS(
                0.1,
                "requests compute fewer prompt tokens without holds than they did",
                "requests compute more prompt tokens with holds than they did");

        /** Least spread, on a logarithm. */
        private final double leastSpread;

        private final String offFaster;
        private final String onSlower;

        Of(double leastSpread, String offFaster, String onSlower) {
            this.leastSpread = leastSpread;
            this.offFaster = offFaster;
            this.onSlower = onSlower;
        }
    }

    private final Of of;
    private final SwitchbackFit fit;
    private final CumulativeSum slower = new CumulativeSum(ON_SLACK, ON_LIMIT);
    private final CumulativeSum offFaster = new CumulativeSum(OFF_SLACK, OFF_LIMIT);
    private Optional<String> change = Optional.empty();
    private long lastPosition = Long.MIN_VALUE;
    private double lastStray;
    private double level;
    private int seen;

    ChangeWatch(Of of, SwitchbackFit fit) {
        this.of = of;
        this.fit = fit;
    }

    void add(WindowValue window) {
        double stray = fit.strays(window) / Math.max(fit.sd(), of.leastSpread);
        seen++;
        if (!window.on()) {
            // The level around it strays as well, by less than a window.
            if (offFaster.add((level - stray) / Math.sqrt(1 + MEMORY))) {
                change = Optional.of("it is measured anew, since " + of.offFaster);
            }
            return;
        }
        boolean neighbour = window.position() == lastPosition + 1;
        double alike = neighbour ? fit.correlation() : 0;
        if (slower.add((stray - alike * lastStray) / Math.sqrt(1 - alike * alike))) {
            change = Optional.of("it is measured anew, since " + of.onSlower);
        }
        level += MEMORY * (stray - level);
        lastStray = stray;
        lastPosition = window.position();
    }

    Of of() {
        return of;
    }

    Optional<String> change() {
        return change;
    }

    /**
     * Returns true if as many windows came since as it was made of, so that one that is made anew knows better, and
     * none of them was odd.
     */
    boolean old() {
        return seen >= Math.max(SequentialComparison.FIRST_WINDOWS, fit.df())
                && !slower.doubtful()
                && !offFaster.doubtful();
    }
}
