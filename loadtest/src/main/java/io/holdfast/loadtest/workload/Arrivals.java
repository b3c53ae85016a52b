package io.holdfast.loadtest.workload;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.loadtest.trace.TraceFile;
import java.math.BigDecimal;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/*
 * Arrivals
 * ========
 *
 * In a closed loop a request comes when another one is over, so a slow server is asked less often, and the requests
 * that would have waited for it are never sent. To know how long people wait who do not wait for each other, have them
 * come at times of their own. Those times are a part of the workload: drawn before anything is sent, the same in every
 * leg, and in the workload's id.
 *
 * The first request of a flood comes with the flood's beginning; what is drawn are the gaps after it.
 */

/** Times at which the requests of a flood come. */
public sealed interface Arrivals {
    /** A request comes when another one is over. */
    record Closed() implements Arrivals {
        @Override
        public List<Long> turns(int requests, SplittableRandom random) {
            return List.of();
        }

        @Override
        public String text() {
            return CLOSED;
        }
    }

    /** Equally far apart. */
    record Constant(double rate) implements Arrivals {
        @Override
        public List<Long> turns(int requests, SplittableRandom random) {
            return IntStream.range(0, requests)
                    .mapToObj(request -> nanos(request / rate))
                    .toList();
        }

        @Override
        public String text() {
            return CONSTANT + shown(rate);
        }
    }

    /** Arrivals as from many senders who know nothing of each other. */
    record Poisson(double rate) implements Arrivals {
        @Override
        public List<Long> turns(int requests, SplittableRandom random) {
            List<Long> turns = new ArrayList<>();
            double at = 0;
            for (int request = 0; request < requests; request++) {
                turns.add(nanos(at));
                at += -Math.log(1 - random.nextDouble()) / rate;
            }
            return turns;
        }

        @Override
        public String text() {
            return POISSON + shown(rate);
        }
    }

    /** Arrivals at a rate that changes evenly from the first request of a flood to its last. */
    record Ramp(double from, double to) implements Arrivals {
        /** The times at which the area under the rate is a whole number. */
        @Override
        public List<Long> turns(int requests, SplittableRandom random) {
            double length = 2 * (requests - 1) / (from + to);
            return IntStream.range(0, requests)
                    .mapToObj(request -> {
                        double grown = (to - from) / length * request;
                        return nanos(request == 0 ? 0 : 2 * request / (from + Math.sqrt(from * from + 2 * grown)));
                    })
                    .toList();
        }

        @Override
        public String text() {
            return RAMP + shown(from) + TO + shown(to);
        }
    }

    /** Arrivals of a recorded trace; each flood begins with its first request. */
    record Recorded(Path file, List<Long> nanos) implements Arrivals {
        public Recorded {
            nanos = List.copyOf(nanos);
        }

        @Override
        public List<Long> turns(int requests, SplittableRandom random) {
            if (requests > nanos.size()) {
                throw new LoadTestException("The trace " + file + " has " + nanos.size() + " requests, and a flood has "
                        + requests + "; name a longer one, or make the flood smaller.");
            }
            return nanos.subList(0, requests).stream()
                    .map(at -> at - nanos.getFirst())
                    .toList();
        }

        @Override
        public String text() {
            return TRACE + file;
        }
    }

    /** A word alone; the other forms have a number or a file behind theirs. */
    String CLOSED = "closed";

    String CONSTANT = "constant:";
    String POISSON = "poisson:";
    String RAMP = "ramp:";
    String TRACE = "trace:";
    String TO = "..";
    double LEAST_RATE = 0.001;
    double MOST_RATE = 100_000;
    Duration LONGEST_FLOOD = Duration.ofDays(1);

    /**
     * When the turn of each request comes, in nanoseconds from the beginning of the flood and in order; none where a
     * request's turn comes when another one is over.
     */
    List<Long> turns(int requests, SplittableRandom random);

    /** Returns the text that {@link #of} reads. */
    String text();

    default boolean isClosed() {
        return this instanceof Closed;
    }

    /** The turns of a flood, once it is known that it comes to an end. */
    default List<Long> turnsOfAFlood(int requests, SplittableRandom random) {
        List<Long> turns = turns(requests, random);
        if (!turns.isEmpty() && turns.getLast() > LONGEST_FLOOD.toNanos()) {
            throw new LoadTestException("With " + text() + " a flood of " + requests
                    + " requests would take more than a day; use a higher rate, or fewer requests.");
        }
        return turns;
    }

    /**
     * Reads {@code closed}, {@code constant:RATE}, {@code poisson:RATE}, {@code ramp:FROM..TO} and {@code trace:FILE};
     * rates are requests a second.
     */
    static Arrivals of(String text) {
        if (text.equals(CLOSED)) {
            return new Closed();
        }
        if (text.startsWith(CONSTANT)) {
            return new Constant(rate(text, text.substring(CONSTANT.length()), "constant:4"));
        }
        if (text.startsWith(POISSON)) {
            return new Poisson(rate(text, text.substring(POISSON.length()), "poisson:4"));
        }
        if (text.startsWith(RAMP)) {
            String rates = text.substring(RAMP.length());
            int between = Math.max(0, rates.indexOf(TO));
            return new Ramp(
                    rate(text, rates.substring(0, between), "ramp:1..8"),
                    rate(text, rates.substring(Math.min(rates.length(), between + TO.length())), "ramp:1..8"));
        }
        if (text.startsWith(TRACE) && text.length() > TRACE.length()) {
            return recorded(text.substring(TRACE.length()));
        }
        throw new LoadTestException("The arrivals are '" + text + "'; write closed, constant:RATE, poisson:RATE,"
                + " ramp:FROM..TO or trace:FILE.");
    }

    private static Arrivals recorded(String name) {
        try {
            Path file = Path.of(name).toAbsolutePath();
            Trace trace = TraceFile.at(file).read();
            return new Recorded(
                    file,
                    LongStream.range(0, trace.requests())
                            .mapToObj(request -> trace.nanos((int) request))
                            .toList());
        } catch (InvalidPathException e) {
            throw new LoadTestException("The arrivals are of the file '" + name + "', which is no name of a file.", e);
        }
    }

    private static double rate(String text, String number, String example) {
        try {
            double rate = new BigDecimal(number).doubleValue();
            if (rate >= LEAST_RATE && rate <= MOST_RATE) {
                return rate;
            }
        } catch (NumberFormatException e) {
            // Told with what is out of bounds.
        }
        throw new LoadTestException("The arrivals are '" + text + "', where '" + number + "' is no rate between "
                + shown(LEAST_RATE) + " and " + shown(MOST_RATE) + " requests a second; write it as " + example + ".");
    }

    private static String shown(double rate) {
        return BigDecimal.valueOf(rate).stripTrailingZeros().toPlainString();
    }

    private static long nanos(double seconds) {
        return Math.round(1e9 * seconds);
    }
}
