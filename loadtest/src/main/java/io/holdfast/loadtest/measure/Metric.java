package io.holdfast.loadtest.measure;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A number that a load is summed up by.
 *
 * <p>Those of a {@link Quantity} are named by it and by what its values are reduced to, as {@code ttft_p50}, {@code
 * itl_mean} or {@code e2e_p99.9}; quantiles are those of Hyndman and Fan's definition 7, and a standard deviation is
 * that of a sample.
 *
 * @param name in files
 */
public record Metric(String name, Unit unit, Better better) {
    /** Direction of an improvement. */
    public enum Better {
        LOWER,
        HIGHER,
        NEITHER
    }

    /** Unit that values are counted in. */
    public enum Unit {
        MILLIS("ms"),
        SECONDS("s"),
        REQUESTS_PER_SECOND("req/s"),
        TOKENS_PER_SECOND("tok/s"),
        TOKENS("tokens"),
        /** A fraction of 1. */
        SHARE(""),
        COUNT("");

        private final String text;

        Unit(String text) {
            this.text = text;
        }

        /** Returns the unit as it stands behind a number. */
        public String text() {
            return text;
        }
    }

    /** Requests answered well in a second, from the first sent to the last token. */
    public static final Metric REQUEST_THROUGHPUT =
            new Metric("request_throughput", Unit.REQUESTS_PER_SECOND, Better.HIGHER);

    /** Tokens of their answers in a second. */
    public static final Metric OUTPUT_THROUGHPUT =
            new Metric("output_throughput", Unit.TOKENS_PER_SECOND, Better.HIGHER);

    /** Tokens of prompts and answers in a second. */
    public static final Metric TOTAL_THROUGHPUT = new Metric("total_throughput", Unit.TOKENS_PER_SECOND, Better.HIGHER);

    /** Throughput in a file that does not say of what. */
    public static final Metric THROUGHPUT = new Metric("throughput", Unit.COUNT, Better.HIGHER);

    /** Requests in a second that were answered within all limits of a {@link Slo}. */
    public static final Metric GOODPUT = new Metric("goodput", Unit.REQUESTS_PER_SECOND, Better.HIGHER);

    /** Share of all requests that were answered within all limits. */
    public static final Metric GOOD_SHARE = new Metric("good_share", Unit.SHARE, Better.HIGHER);

    /** Time from the first request sent to the last token. */
    public static final Metric DURATION = new Metric("duration", Unit.SECONDS, Better.LOWER);

    /** Requests that were not answered well. */
    public static final Metric ERRORS = new Metric("errors", Unit.COUNT, Better.LOWER);

    /** Share of all prompt tokens that the server had cached. */
    public static final Metric CACHED_SHARE = new Metric("cached_share", Unit.SHARE, Better.HIGHER);

    /** Blocks of the GPU's cache that the engine reported as stored. */
    public static final Metric BLOCKS_STORED = new Metric("blocks_stored", Unit.COUNT, Better.NEITHER);

    /** Blocks of the GPU's cache that the engine reported as removed. */
    public static final Metric BLOCKS_REMOVED = new Metric("blocks_removed", Unit.COUNT, Better.NEITHER);

    /** Times that the engine reported that it emptied the cache. */
    public static final Metric CACHE_CLEARS = new Metric("cache_clears", Unit.COUNT, Better.NEITHER);

    /** Mean tokens of a prompt, as the server counts them. */
    public static final Metric PROMPT_TOKENS = new Metric("prompt_tokens_mean", Unit.TOKENS, Better.NEITHER);

    /** Mean tokens of an answer, as the server counts them. */
    public static final Metric COMPLETION_TOKENS = new Metric("completion_tokens_mean", Unit.TOKENS, Better.NEITHER);

    /** The mean number of requests under way. */
    public static final Metric CONCURRENCY = new Metric("concurrency_mean", Unit.COUNT, Better.NEITHER);

    /** Time to the first token of the user who asks first of two. */
    public static final Metric USER_A_TTFT = new Metric("user_a_ttft", Unit.MILLIS, Better.LOWER);

    /** Time to the first token of the second of two users, from when the first one asked. */
    public static final Metric USER_B_TTFT_FROM_WALL_START =
            new Metric("user_b_ttft_from_wall_start", Unit.MILLIS, Better.LOWER);

    private static final Pattern ABBREVIATION = Pattern.compile("ttft|ttfo|itl|icl|tpot|e2e|p[0-9.]+");

    private static final Pattern OF_QUANTITY =
            Pattern.compile("([a-z0-9_]+)_(mean|std|min|max|p(\\d{1,2}(?:\\.\\d+)?))");

    /** The mean of a quantity over all its values. */
    public static Metric mean(Quantity quantity) {
        return of(quantity, "mean");
    }

    /** The standard deviation of a quantity's values. */
    public static Metric std(Quantity quantity) {
        return of(quantity, "std");
    }

    public static Metric min(Quantity quantity) {
        return of(quantity, "min");
    }

    public static Metric max(Quantity quantity) {
        return of(quantity, "max");
    }

    /**
     * A quantile of a quantity over all its values.
     *
     * @param percent as 50 or 99.9
     */
    public static Metric percentile(Quantity quantity, double percent) {
        String text =
                percent == Math.rint(percent) ? String.format(Locale.ROOT, "%.0f", percent) : Double.toString(percent);
        return of(quantity, "p" + text);
    }

    private static Metric of(Quantity quantity, String reduced) {
        return new Metric(quantity.word() + "_" + reduced, Unit.MILLIS, Better.LOWER);
    }

    /** The metric of that name; absent where there is none. */
    public static Optional<Metric> named(String name) {
        Optional<Metric> single = Stream.of(
                        REQUEST_THROUGHPUT,
                        OUTPUT_THROUGHPUT,
                        TOTAL_THROUGHPUT,
                        THROUGHPUT,
                        GOODPUT,
                        GOOD_SHARE,
                        DURATION,
                        ERRORS,
                        CACHED_SHARE,
                        BLOCKS_STORED,
                        BLOCKS_REMOVED,
                        CACHE_CLEARS,
                        PROMPT_TOKENS,
                        COMPLETION_TOKENS,
                        CONCURRENCY,
                        USER_A_TTFT,
                        USER_B_TTFT_FROM_WALL_START)
                .filter(metric -> metric.name.equals(name))
                .findFirst();
        if (single.isPresent()) {
            return single;
        }
        Matcher matcher = OF_QUANTITY.matcher(name);
        return matcher.matches()
                ? Quantity.named(matcher.group(1)).map(of -> of(of, matcher.group(2)))
                : Optional.empty();
    }

    /** Returns how this load test measures it, so that nobody has to guess whose number it is. */
    public String method() {
        if (Set.of(BLOCKS_STORED, BLOCKS_REMOVED, CACHE_CLEARS).contains(this)) {
            return "the engine's KV events";
        }
        if (Set.of(CACHED_SHARE, PROMPT_TOKENS, COMPLETION_TOKENS).contains(this)) {
            return "the server's usage counts";
        }
        return unit == Unit.TOKENS_PER_SECOND
                ? "the server's usage counts over the client's clock"
                : unit == Unit.COUNT || unit == Unit.SHARE ? "the client's count" : "the client's clock";
    }

    /**
     * A value as tables have it: TTFT and gaps in whole milliseconds, whole answers in seconds, throughput with one
     * decimal.
     */
    public String shown(double value) {
        return switch (unit) {
            case MILLIS ->
                name.startsWith("e2e")
                        ? String.format(Locale.ROOT, "%.3f s", value / 1e3)
                        : String.format(Locale.ROOT, "%.0f ms", value);
            case SECONDS -> String.format(Locale.ROOT, "%.3f s", value);
            case REQUESTS_PER_SECOND, TOKENS_PER_SECOND -> String.format(Locale.ROOT, "%.1f %s", value, unit.text());
            case SHARE -> String.format(Locale.ROOT, "%.1f %%", 100 * value);
            case TOKENS, COUNT -> String.format(Locale.ROOT, value == Math.rint(value) ? "%.0f" : "%.1f", value);
        };
    }

    /** Returns the name for a sentence or the head of a column, as {@code TTFT P50}. */
    public String title() {
        return Arrays.stream(name.split("_", -1))
                .map(word -> ABBREVIATION.matcher(word).matches() ? word.toUpperCase(Locale.ROOT) : word)
                .collect(Collectors.joining(" "));
    }
}
