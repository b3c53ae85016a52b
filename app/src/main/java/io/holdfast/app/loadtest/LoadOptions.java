package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What a load test sends besides the size of its floods, and when. */
final class LoadOptions {
    private static final int USUAL_CONCURRENCY = 8;
    private static final int MOST_AT_A_TIME = 4_096;
    private static final String RATE = "rate";

    /** What a sweep can have levels of, by the names of these options; the rate is that of requests that come by Poisson. */
    static final Set<String> OF_A_LEVEL =
            Set.of("concurrency", "flood-requests", "flood-tokens", "prefix-tokens", RATE);

    @Option(
            names = "--prefix-tokens",
            paramLabel = "N",
            defaultValue = "1024",
            description = "Tokens of the prefix that a leg sends first and with which its probes begin; words where"
                    + " text is sent (default: ${DEFAULT-VALUE}).")
    private int prefixTokens;

    @Option(
            names = "--suffix-tokens",
            paramLabel = "N",
            defaultValue = "64",
            description = "Tokens that each probe has of its own (default: ${DEFAULT-VALUE}).")
    private int suffixTokens;

    @Option(
            names = "--cycles",
            paramLabel = "N",
            defaultValue = "4",
            description = "Floods and probes of a leg (default: ${DEFAULT-VALUE}).")
    private int cycles;

    @Option(
            names = "--output-tokens",
            paramLabel = "N",
            defaultValue = "16",
            description = "Tokens that a probe generates (default: ${DEFAULT-VALUE}).")
    private int outputTokens;

    @Option(
            names = "--concurrency",
            paramLabel = "N",
            description = "Requests of a flood under way at a time. With --arrivals other than closed it is a"
                    + " limit: a request beyond it is not sent and counts as failed (default: 8, and no limit"
                    + " with other arrivals).")
    private @Nullable Integer concurrency;

    @Option(
            names = "--arrivals",
            paramLabel = "HOW",
            description = "Arrival of the requests of a flood. closed: each starts when another ends."
                    + " constant:RATE, poisson:RATE, ramp:FROM..TO: at scheduled times, in requests a second."
                    + " trace:FILE: at the times of a recorded trace, Mooncake's or CSV (default: closed).")
    private @Nullable String arrivals;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "42",
            description = "Seed of prompts, their times and the order of the legs (default: ${DEFAULT-VALUE}).")
    private long seed;

    LoadOptions() {}

    /** The same where some of them are those of a level of a sweep. */
    FloodShape shape(Map<String, String> level, int floodRequests, int tokens) {
        return FloodShape.of(
                        number(level, "prefix-tokens", prefixTokens),
                        suffixTokens,
                        number(level, "flood-requests", floodRequests),
                        number(level, "flood-tokens", tokens),
                        cycles)
                .withOutputTokens(1, outputTokens);
    }

    Arrivals arrivals(Map<String, String> level) {
        return Optional.ofNullable(level.get(RATE))
                .map(rate -> Arrivals.of("poisson:" + rate))
                .orElseGet(this::arrivals);
    }

    int concurrency(Map<String, String> level, Arrivals when, int floodRequests) {
        return number(level, "concurrency", concurrency(when, floodRequests));
    }

    private static int number(Map<String, String> level, String name, int usual) {
        String text = level.getOrDefault(name, Integer.toString(usual));
        try {
            return Integer.parseInt(text);
        } catch (NumberFormatException e) {
            throw new CommandException("A level of " + name + " is '" + text + "'; write a whole number.");
        }
    }

    /** @param tokens of each request of a flood */
    FloodShape shape(int floodRequests, int tokens) {
        return shape(Map.of(), floodRequests, tokens);
    }

    long seed() {
        return seed;
    }

    Arrivals arrivals() {
        return Optional.ofNullable(arrivals).map(Arrivals::of).orElseGet(Arrivals.Closed::new);
    }

    /** How many of a flood of so many requests may be under way at a time. */
    int concurrency(Arrivals when, int floodRequests) {
        return Optional.ofNullable(concurrency)
                .orElse(when.isClosed() ? USUAL_CONCURRENCY : Math.clamp(floodRequests, 1, MOST_AT_A_TIME));
    }
}
