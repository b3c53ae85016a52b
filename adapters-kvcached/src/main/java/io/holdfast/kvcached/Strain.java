package io.holdfast.kvcached;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;

/**
 * Comparison of an engine's ever growing counters between a time and the time before it: did requests wait longer, were
 * more taken back?
 */
final class Strain {
    private static final long WINDOW_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int ENOUGH_REQUESTS = 5;
    private static final double TTFT_RISE = 1.5;
    private static final double LEAST_TTFT_RISE_SECONDS = 0.05;
    private static final double PREEMPTIONS_RISE = 2;

    private record Sample(long nanos, EngineLoad load) {}

    private final Deque<Sample> samples = new ArrayDeque<>();

    void add(EngineLoad load, long now) {
        Sample before = samples.peekLast();
        if (before != null && (!load.answers() || fell(before.load, load))) {
            // Another process counts from nothing.
            samples.clear();
        }
        if (load.answers()) {
            samples.addLast(new Sample(now, load));
        }
        while (!samples.isEmpty() && now - samples.getFirst().nanos > 2 * WINDOW_NANOS) {
            samples.removeFirst();
        }
    }

    private static boolean fell(EngineLoad before, EngineLoad now) {
        return now.ttftCount().orElse(0) < before.ttftCount().orElse(0)
                || now.preemptions().orElse(0) < before.preemptions().orElse(0);
    }

    /**
     * Reason why the engine is worse off after a moment than in the minute before it; absent where nothing got worse,
     * or too little is known.
     */
    Optional<String> worseSince(long moment) {
        Optional<Sample> middle =
                samples.stream().filter(each -> each.nanos - moment >= 0).findFirst();
        if (middle.isEmpty()) {
            return Optional.empty();
        }
        Sample first = samples.stream()
                .filter(each -> moment - each.nanos <= WINDOW_NANOS)
                .findFirst()
                .orElse(middle.get());
        return preemptions(first, middle.get(), samples.getLast())
                .or(() -> ttft(first, middle.get(), samples.getLast()));
    }

    private static Optional<String> preemptions(Sample first, Sample middle, Sample last) {
        double before = rate(first, middle);
        double after = rate(middle, last);
        return after > 0 && after > PREEMPTIONS_RISE * before
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "it takes back %.2f running requests a second, and took back %.2f before",
                        after,
                        before))
                : Optional.empty();
    }

    private static double rate(Sample from, Sample to) {
        double seconds = (to.nanos - from.nanos) / 1e9;
        return seconds <= 0
                ? 0
                : (to.load.preemptions().orElse(0) - from.load.preemptions().orElse(0)) / seconds;
    }

    private static Optional<String> ttft(Sample first, Sample middle, Sample last) {
        OptionalDouble before = mean(first, middle);
        OptionalDouble after = mean(middle, last);
        return before.isPresent()
                        && after.isPresent()
                        && after.getAsDouble() > TTFT_RISE * before.getAsDouble()
                        && after.getAsDouble() > before.getAsDouble() + LEAST_TTFT_RISE_SECONDS
                ? Optional.of(String.format(
                        Locale.ROOT,
                        "the time to first token rose from %.0f to %.0f ms",
                        before.getAsDouble() * 1e3,
                        after.getAsDouble() * 1e3))
                : Optional.empty();
    }

    private static OptionalDouble mean(Sample from, Sample to) {
        double requests = to.load.ttftCount().orElse(0) - from.load.ttftCount().orElse(0);
        double seconds =
                to.load.ttftSumSeconds().orElse(0) - from.load.ttftSumSeconds().orElse(0);
        return requests >= ENOUGH_REQUESTS ? OptionalDouble.of(seconds / requests) : OptionalDouble.empty();
    }
}
