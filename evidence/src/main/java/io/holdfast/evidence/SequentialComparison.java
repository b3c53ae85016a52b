package io.holdfast.evidence;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Optional;

/**
 * Windows with something on and off, looked at again and again; what they show by now about its effect on a logarithm.
 */
public final class SequentialComparison {
    /*
     * Only the last span of windows counts, since what holds of an engine's traffic today need not tomorrow. Each span
     * of new windows spends its error anew: within it all looks together err no more often than is allowed, and beyond
     * it nobody can promise that for ever without saying less and less. In the second span looks share most of their
     * windows, which errs on the careful side.
     *
     * Lower is better. A loss has to be noticed soon, and so has a gain, so their errors and the interval's are spent
     * for the most part at the first looks; what is left keeps the later ones honest, which a small effect or none
     * needs. A gain is said with less error than the interval has: who acts on it measures little from then on.
     *
     * Values that hardly stray are no reason to see a change in what rounding makes of them.
     */
    public static final int SPAN = 240;
    private static final int EVERY = 4;
    private static final int LOOKS = SPAN / EVERY;
    private static final int FIRST = 3;
    /** No look is made before there are so many. */
    public static final int FIRST_WINDOWS = FIRST * EVERY;

    private static final double ROUNDING = 1e-9;

    /**
     * The errors that all looks within a span may make.
     *
     * @param interval on each side of the interval that is shown; a loss is what lies wholly above zero
     * @param gain that a gain is said where there is none
     * @param noGain that no gain worth having is said where there is just one
     */
    public record Errors(double interval, double gain, double noGain) {
        /** Error rates that apply unless somebody decides otherwise. */
        public static final Errors USUAL = new Errors(0.025, 0.01, 0.10);
    }

    /**
     * Result of a look.
     *
     * @param windows how many it looks at
     * @param interval of 95 % for all looks of a span together
     * @param gain whether there surely is one
     * @param noGain whether a gain as large as is worth having can be excluded
     */
    public record Look(int windows, SwitchbackFit fit, Interval interval, boolean gain, boolean noGain) {
        public boolean loss() {
            return interval.low() > 0;
        }
    }

    /** Confidence that each look needs; takes a while to compute, and is shared. */
    public static final class Bounds {
        private final double leastGain;
        private final ErrorSpending interval;
        private final ErrorSpending gain;
        private final ErrorSpending noGain;

        /** {@code leastGain} is the smallest gain that is worth having, as a part of the whole, such as 0.03. */
        public Bounds(double leastGain, Errors errors) {
            if (!(leastGain >= 0 && leastGain < 1)) {
                throw new IllegalArgumentException("The least gain is a part of the whole from 0 to below 1, not "
                        + leastGain + "; write 0.03 for 3 %.");
            }
            this.leastGain = -Math.log1p(-leastGain);
            this.interval = new ErrorSpending(errors.interval, LOOKS, FIRST);
            this.gain = new ErrorSpending(errors.gain, LOOKS, FIRST);
            this.noGain = new ErrorSpending(errors.noGain, LOOKS, FIRST);
        }
    }

    private final Bounds bounds;
    private final Deque<WindowValue> windows = new ArrayDeque<>();
    private int inSpan;
    private Optional<Look> look = Optional.empty();

    public SequentialComparison(Bounds bounds) {
        this.bounds = bounds;
    }

    /** Adds a window; returns true if it brings a new look. */
    public boolean add(WindowValue window) {
        windows.addLast(window);
        if (windows.size() > SPAN) {
            windows.removeFirst();
        }
        inSpan++;
        boolean due = inSpan % EVERY == 0 && inSpan / EVERY >= FIRST;
        Optional<Look> fresh = due ? lookAgain(inSpan / EVERY) : Optional.empty();
        if (inSpan == SPAN) {
            inSpan = 0;
        }
        look = fresh.or(() -> look);
        return fresh.isPresent();
    }

    private Optional<Look> lookAgain(int number) {
        return SwitchbackFit.of(new ArrayList<>(windows))
                .map(fit -> new Look(
                        windows.size(),
                        fit,
                        Interval.around(fit.effect(), fit.reach(bounds.interval.level(number))),
                        fit.effect() + fit.reach(bounds.gain.level(number)) < -ROUNDING,
                        fit.effect() - fit.reach(bounds.noGain.level(number)) > -bounds.leastGain));
    }

    /** The newest look; absent before the first. */
    public Optional<Look> look() {
        return look;
    }

    public int windows() {
        return windows.size();
    }

    /** All that was seen tells of something that is no more. */
    public void forget() {
        windows.clear();
        inSpan = 0;
        look = Optional.empty();
    }
}
