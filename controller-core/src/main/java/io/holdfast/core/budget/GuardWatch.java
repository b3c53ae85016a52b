package io.holdfast.core.budget;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.util.Optional;
import java.util.OptionalLong;

/** Facts that the guard needs of one cache beside its newest readings: stalls, pins of others, how much ran lately. */
public final class GuardWatch {
    private final StallWatch stalls = new StallWatch();
    private final ForeignPins foreign = new ForeignPins();
    private final RecentPeak running = new RecentPeak();

    private OptionalLong beside = OptionalLong.empty();

    /** Time since which no call of ours is under way; before all time where none ever was. */
    private long quietSinceNanos = Long.MIN_VALUE / 2;

    /** A pin or an unpin of ours is under way now. */
    public void callsUnderWay(long nowNanos) {
        quietSinceNanos = nowNanos;
    }

    /**
     * Takes one look.
     *
     * @param ourTokens what is pinned for us, or may be
     * @param batches how many batches of events have been seen
     * @param askedNanos when the engine was asked, on the clock of {@code nowNanos}
     */
    public void look(EngineReadings readings, long ourTokens, long batches, long askedNanos, long nowNanos) {
        stalls.look(readings, batches, nowNanos);
        beside = readings.usedTokens() instanceof Reading.Known used
                ? OptionalLong.of(Math.max(0, (long) used.value() - ourTokens))
                : OptionalLong.empty();
        running.look(readings.runningRequests().number().orElse(0), nowNanos);
        if (readings.blockTokens().number().isPresent()) {
            foreign.look(readings, ourTokens, quietSinceNanos, askedNanos);
        }
    }

    /** The cache was emptied. */
    public void emptied() {
        foreign.forget();
    }

    /** Somebody decides to pin again. */
    public void resume() {
        stalls.resume();
    }

    public boolean stalled(long nowNanos) {
        return stalls.stalled(nowNanos);
    }

    public long stalls() {
        return stalls.stalls();
    }

    /** Returns the reason why nothing new is pinned hard since the engine has stalled; absent when that is over. */
    public Optional<String> hindrance(long nowNanos) {
        return stalls.hindrance(nowNanos);
    }

    /**
     * Returns what the last look showed to be taken, by us or others, if it was at rest and newer than any call of
     * ours.
     */
    public OptionalLong restedWith() {
        return foreign.restedWith();
    }

    public Observed observed(PromptSizes.Facts prompts, OptionalLong need, PromptSizes.Facts answers, long nowNanos) {
        return new Observed(
                prompts,
                need,
                answers,
                foreign.tokens(nowNanos),
                foreign.seenAtRest(nowNanos),
                running.requests(nowNanos),
                beside);
    }
}
