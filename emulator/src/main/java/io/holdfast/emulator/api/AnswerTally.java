package io.holdfast.emulator.api;

import io.holdfast.rules.engine.Histogram;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Counts of a server's front about the answers that it gave; event loops write, hence locked. */
public final class AnswerTally {
    private static final List<Double> LATENCY = List.of(
            0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0, 600.0,
            1200.0, 1800.0, 2400.0);
    private static final List<Double> BETWEEN = List.of(
            0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6,
            0.8, 1.0, 2.0, 4.0, 6.0, 8.0);
    /** SGLang's buckets of lengths. */
    public static final List<Double> SGLANG_TOKENS = List.of(
            100.0, 300.0, 500.0, 700.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 5000.0, 6000.0, 7000.0, 8000.0, 9000.0,
            10000.0, 12500.0, 15000.0, 17500.0, 20000.0, 22500.0, 25000.0, 27500.0, 30000.0, 35000.0, 40000.0, 60000.0,
            80000.0, 100000.0, 200000.0, 300000.0, 400000.0, 600000.0, 800000.0, 1e6, 1.1e6);

    /** One moment's counts of the answers of one kind, streamed or whole. */
    public record Kind(
            long requests,
            long promptTokens,
            long answerTokens,
            long cachedOnDevice,
            long cachedOnHost,
            Histogram firstToken,
            Histogram whole,
            Histogram perToken,
            Histogram between) {
        private static final Kind NONE = new Kind(
                0,
                0,
                0,
                0,
                0,
                Histogram.EMPTY,
                Histogram.empty(LATENCY),
                Histogram.empty(BETWEEN),
                Histogram.empty(BETWEEN));

        private Kind with(Choice choice) {
            Choice.Times times = choice.times();
            int said = choice.tokens().size();
            double perToken = said > 1 ? (times.last() - times.first()) / (said - 1) : 0;
            return new Kind(
                    requests + 1,
                    promptTokens + choice.promptTokens(),
                    answerTokens + said,
                    cachedOnDevice + choice.cached() - choice.cachedOnHost(),
                    cachedOnHost + choice.cachedOnHost(),
                    firstToken.observe(times.first() - times.received()),
                    whole.observe(times.last() - times.received()),
                    said > 1 ? this.perToken.observe(perToken) : this.perToken,
                    said > 1 ? between.observe(perToken) : between);
        }
    }

    private Kind whole = Kind.NONE;
    private Kind streamed = Kind.NONE;
    private Histogram prompts;
    private Histogram uncached;
    private Histogram answers;
    private final Map<Class<?>, Long> ends = new HashMap<>();

    /**
     * A tally of nothing so far.
     *
     * @param tokens bounds of the buckets that lengths are counted in
     */
    public AnswerTally(List<Double> tokens) {
        prompts = Histogram.empty(tokens);
        uncached = Histogram.empty(tokens);
        answers = Histogram.empty(tokens);
    }

    public synchronized void ended(Choice choice, boolean stream) {
        if (stream) {
            streamed = streamed.with(choice);
        } else {
            whole = whole.with(choice);
        }
        prompts = prompts.observe(choice.promptTokens());
        uncached = uncached.observe(choice.promptTokens() - choice.cached());
        answers = answers.observe(choice.tokens().size());
        choice.end().ifPresent(end -> ends.merge(end.getClass(), 1L, Long::sum));
    }

    /** Number of answers that ended this way. */
    public synchronized long ended(Class<? extends Choice.End> end) {
        return ends.getOrDefault(end, 0L);
    }

    public synchronized Kind of(boolean stream) {
        return stream ? streamed : whole;
    }

    public synchronized Histogram prompts() {
        return prompts;
    }

    public synchronized Histogram uncached() {
        return uncached;
    }

    public synchronized Histogram answers() {
        return answers;
    }
}
