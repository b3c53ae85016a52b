package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/*
 * Surroundings
 * ============
 *
 * A leg is measured by a client on a machine. When one of these stumbles, its numbers are about that
 * and not about the engine. Nothing here looks at which arm a leg had, and nothing at whether its latencies are good:
 * the limits are fixed beforehand, so that running a pair again because of them favours neither arm.
 *
 * The limits. Lag is what lies between a request's turn and its sending, which is the client's own share of a latency
 * from the schedule: its median at most 10 ms, its 99th percentile at most that or a twentieth of the median time to
 * first token. Below a hundred requests that percentile is the latest one by another name, so it is asked for from a
 * hundred on. An event loop that takes more than four fifths of a core has a queue in front of it. One that stood still
 * for 100 ms stamped whatever came in that time with the end of it.
 */

/** Checks of what can go wrong around a leg; each failure is a clause that follows the leg's name. */
final class Surroundings {
    private static final long MILLI = 1_000_000;
    private static final double NANOS = 1e9;
    private static final double MOST_MEDIAN_LAG = 10 * MILLI;
    private static final double LAG_OF_TTFT = 0.05;
    private static final int LEAST_FOR_P99 = 100;
    private static final double LOAD_TOLERANCE = 0.02;
    /** Over less than that, one late wake-up of a busy machine would be more than the tolerance. */
    private static final long SHORTEST_FLOODS = 200 * MILLI;
    /**
     * Idle time a turn that is always allowed: under 100 ms a request, the tolerance is less than a busy machine needs.
     */
    private static final long MOST_IDLE = 2 * MILLI;

    private final RunHeader header;

    Surroundings(RunHeader header) {
        this.header = header;
    }

    List<String> failedBy(LegRecord leg) {
        List<String> failed = new ArrayList<>();
        if (header.workload().isClosed()) {
            concurrency(leg, failed);
        } else {
            rate(leg, failed);
        }
        lag(leg, failed);
        clock(leg, failed);
        leg.client().map(ClientHealth::troubles).ifPresent(failed::addAll);
        return failed;
    }

    /** Checks that the requested number of requests was under way for as long as requests waited for their turn. */
    private void concurrency(LegRecord leg, List<String> failed) {
        double underWay = 0;
        double whole = 0;
        int turnsTaken = 0;
        for (List<RequestRecord> flood : floods(leg)) {
            long[] turns =
                    flood.stream().mapToLong(RequestRecord::scheduled).sorted().toArray();
            if (turns.length <= header.concurrency()) {
                continue;
            }
            // From when all lanes are taken to when nothing is left for one that gets free.
            long began = turns[header.concurrency() - 1];
            long last = turns[turns.length - 1];
            whole += last - began;
            turnsTaken += turns.length - header.concurrency();
            for (RequestRecord request : flood) {
                underWay += Math.max(
                        0, Math.clamp(request.done(), began, last) - Math.clamp(request.scheduled(), began, last));
            }
        }
        if (whole < SHORTEST_FLOODS) {
            return;
        }
        double achieved = underWay / whole;
        double idle = (header.concurrency() * whole - underWay) / turnsTaken;
        if (Math.abs(achieved / header.concurrency() - 1) > LOAD_TOLERANCE && Math.abs(idle) > MOST_IDLE) {
            failed.add(String.format(
                    Locale.ROOT,
                    "only %.2f requests of a flood were under way at a time, %d were planned; use a machine with"
                            + " less other load, or a lower concurrency",
                    achieved,
                    header.concurrency()));
        }
    }

    private static Collection<List<RequestRecord>> floods(LegRecord leg) {
        Map<Integer, List<RequestRecord>> floods = leg.requests().stream()
                .filter(request -> request.role() == Role.FLOOD)
                .collect(Collectors.groupingBy(RequestRecord::cycle, TreeMap::new, Collectors.toList()));
        return floods.values();
    }

    /** Checks that requests came at the planned rate. A request that could not be sent at all counts as failed. */
    private static void rate(LegRecord leg, List<String> failed) {
        double planned = 0;
        double taken = 0;
        int turns = 0;
        int floods = 0;
        for (List<RequestRecord> flood : floods(leg)) {
            List<RequestRecord> sent = flood.stream()
                    .filter(request -> request.status() != RequestStatus.NOT_SENT)
                    .sorted(Comparator.comparingLong(RequestRecord::scheduled))
                    .toList();
            if (sent.size() > 1) {
                planned += sent.getLast().scheduled() - sent.getFirst().scheduled();
                taken += sent.getLast().sent() - sent.getFirst().sent();
                turns += sent.size() - 1;
                floods++;
            }
        }
        if (planned >= SHORTEST_FLOODS
                && Math.abs(taken / planned - 1) > LOAD_TOLERANCE
                && Math.abs(taken - planned) > floods * MOST_MEDIAN_LAG) {
            failed.add(String.format(
                    Locale.ROOT,
                    "%.2f requests of a flood were sent a second where %.2f were planned; use a machine with less other"
                            + " load, or a lower rate",
                    turns * NANOS / taken,
                    turns * NANOS / planned));
        }
    }

    private static void lag(LegRecord leg, List<String> failed) {
        double[] lags = nanos(leg, request -> request.sent() - request.scheduled());
        if (lags.length == 0) {
            return;
        }
        double median = Quantiles.of(lags, 0.5);
        if (median > MOST_MEDIAN_LAG) {
            failed.add(String.format(
                    Locale.ROOT,
                    "requests were sent %.1f ms after their turn (median) where at most 10 ms are allowed; use a"
                            + " machine with less other load",
                    median / 1e6));
            return;
        }
        double[] ttfts = leg.requests().stream()
                .map(RequestRecord::ttftMillis)
                .filter(OptionalDouble::isPresent)
                .mapToDouble(ttft -> ttft.getAsDouble() * MILLI)
                .toArray();
        if (lags.length < LEAST_FOR_P99 || ttfts.length == 0) {
            return;
        }
        double most = Math.max(MOST_MEDIAN_LAG, LAG_OF_TTFT * Quantiles.of(ttfts, 0.5));
        double late = Quantiles.of(lags, 0.99);
        if (late > most) {
            failed.add(String.format(
                    Locale.ROOT,
                    "1 %% of the requests were sent more than %.1f ms after their turn where at most %.1f ms are"
                            + " allowed; use a machine with less other load",
                    late / 1e6,
                    most / 1e6));
        }
    }

    private static double[] nanos(LegRecord leg, ToLongFunction<RequestRecord> of) {
        return leg.requests().stream()
                .filter(RequestRecord::isOk)
                .mapToDouble(of::applyAsLong)
                .toArray();
    }

    private static void clock(LegRecord leg, List<String> failed) {
        leg.requests().stream()
                .filter(request -> !inOrder(request))
                .findFirst()
                .ifPresent(request -> failed.add("the stamps of request " + request.number()
                        + " are not in the order in which things happen, so the clock" + " went back"));
    }

    private static boolean inOrder(RequestRecord request) {
        long first = request.firstByte().orElse(request.sent());
        long token = request.firstToken().orElse(first);
        return request.scheduled() <= request.sent()
                && first <= token
                && token <= request.lastToken().orElse(token)
                && request.lastToken().orElse(token) <= request.done();
    }
}
