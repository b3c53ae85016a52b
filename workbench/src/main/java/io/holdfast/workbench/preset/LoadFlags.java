package io.holdfast.workbench.preset;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.regex.Pattern;

/** Cautions that a reader of one load needs before believing its numbers. */
final class LoadFlags {
    private static final double SATURATED = 1.05;
    private static final double DISAGREES = 0.10;
    private static final double TAIL = 0.9;
    private static final Pattern FLAG = Pattern.compile("\\b(MIXED|SATURATED): ");

    private LoadFlags() {}

    /** Returns true if a sentence has one of the flags, with or without the name of its leg before it. */
    static boolean isIn(String sentence) {
        return FLAG.matcher(sentence).find();
    }

    /** All of one leg, a sentence each. */
    static List<String> of(DrawnLoad load, LoadLeg leg, LoadResult result) {
        List<String> flags = new ArrayList<>();
        saturated(load, leg).ifPresent(flags::add);
        if (load.parts().stream().allMatch(part -> part.lanes() == 1)) {
            Measures measures = result.measures();
            OptionalDouble throughput = measures.of(Metric.OUTPUT_THROUGHPUT);
            OptionalDouble tokens = measures.of(Metric.COMPLETION_TOKENS);
            OptionalDouble median = measures.of(Metric.percentile(Quantity.E2E, 50));
            if (throughput.isPresent() && tokens.isPresent() && median.isPresent()) {
                disagreement(throughput.getAsDouble(), tokens.getAsDouble(), median.getAsDouble() / 1e3)
                        .ifPresent(flags::add);
            }
        }
        return flags;
    }

    /**
     * Reports a throughput that disagrees with the median latency. Where requests are sent one after the other,
     * throughput is tokens by latency, so a disagreement means that some requests were slow.
     */
    static Optional<String> disagreement(double throughput, double tokens, double medianSeconds) {
        double implied = tokens / medianSeconds;
        return Math.abs(throughput / implied - 1) <= DISAGREES
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "MIXED: %.1f tok/s were measured, and the median latency of %.3f s is that of %.1f tok/s; some"
                                + " requests took far longer than the median.",
                        throughput,
                        medianSeconds,
                        implied));
    }

    /** Returns true if more was requested than was served. */
    static boolean isSaturated(double offeredTokens, double servedTokens) {
        return offeredTokens > SATURATED * servedTokens;
    }

    /**
     * Reports requests that came faster than they were answered. The offered load is counted over the time in which it
     * came and one answer more, since even a server with room to spare is still at work on the last request when all
     * have come. Where answers take longer than all requests take to come, that shows nothing, and waiting does. A
     * growing number under way is no sign of it: long answers, and bursts of randomly drawn times, cause that too.
     */
    static Optional<String> saturated(DrawnLoad load, LoadLeg leg) {
        for (DrawnLoad.Drawn part : load.parts()) {
            List<RequestRecord> records = leg.of(part.part().name());
            long last = part.turns().isEmpty() ? 0 : part.turns().getLast();
            if (part.part().measured() && last > 0 && records.size() > 2) {
                Optional<String> flag = saturated(part, records, last / 1e9);
                if (flag.isPresent()) {
                    return flag;
                }
            }
        }
        return Optional.empty();
    }

    private static Optional<String> saturated(DrawnLoad.Drawn part, List<RequestRecord> records, double lastTurn) {
        double comes = lastTurn * records.size() / (records.size() - 1);
        double tokens = part.requests().stream()
                .mapToDouble(request -> request.maxTokens())
                .sum();
        List<Double> early = records.stream()
                .limit(Math.max(2, records.size() / 4))
                .flatMap(record -> record.endToEndMillis().stream().boxed())
                .map(millis -> millis / 1e3)
                .sorted()
                .toList();
        double tail = early.isEmpty() ? 0 : early.get((int) (TAIL * (early.size() - 1)));
        // By requests, since not every server counts its tokens, and an answer may end before it has all of them.
        Measures measures = Measures.of(records);
        double duration = measures.of(Metric.DURATION).orElse(0);
        boolean behind = isSaturated(records.size() / (comes + tail), records.size() / duration);
        if (!behind && !waits(records, comes)) {
            return Optional.empty();
        }
        OptionalDouble served = measures.of(Metric.OUTPUT_THROUGHPUT);
        return Optional.of(String.format(
                Locale.ROOT,
                "SATURATED: %.0f tok/s were requested and %s served, %.1f requests were under way in the middle third"
                        + " and %.1f in the last one; its TTFT is mostly waiting and says nothing of prefill.",
                tokens / comes,
                served.isPresent() ? String.format(Locale.ROOT, "%.0f", served.getAsDouble()) : "nobody knows how many",
                underWay(records, 1),
                underWay(records, 2)));
    }

    /**
     * Returns true if the last third waited for the first token longer than it computed, and by more than a server
     * piles up in that time when that much more is requested than it can serve.
     */
    private static boolean waits(List<RequestRecord> records, double comes) {
        List<Double> ttft = records.stream()
                .sorted(Comparator.comparingLong(RequestRecord::scheduled))
                .flatMap(record -> record.ttftMillis().stream().boxed())
                .map(millis -> millis / 1e3)
                .toList();
        if (ttft.isEmpty()) {
            return false;
        }
        double alone = Collections.min(ttft);
        List<Double> last =
                ttft.subList(2 * ttft.size() / 3, ttft.size()).stream().sorted().toList();
        double waited = last.get(last.size() / 2) - alone;
        return waited > alone && waited > (SATURATED - 1) * comes;
    }

    /** Returns the mean number of requests under way when those of a third of a load came. */
    private static double underWay(List<RequestRecord> records, int third) {
        List<RequestRecord> byTurn = records.stream()
                .sorted(Comparator.comparingLong(RequestRecord::scheduled))
                .toList();
        return byTurn.subList(third * byTurn.size() / 3, (third + 1) * byTurn.size() / 3).stream()
                .mapToLong(one -> byTurn.stream()
                        .filter(other -> other.scheduled() <= one.scheduled() && other.done() > one.scheduled())
                        .count())
                .average()
                .orElse(0);
    }
}
