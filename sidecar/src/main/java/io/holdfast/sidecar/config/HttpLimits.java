package io.holdfast.sidecar.config;

import java.time.Duration;

/**
 * Bounds of what strangers may use of the process through the HTTP API.
 *
 * <p>The API shares its heap (512 MiB with the launcher's default) with the thread that ends leases, so that whoever could
 * fill it could keep pins. The numbers together stay below half of it.
 *
 * @param bodyBytes the largest body
 * @param bodiesBytes all bodies that are being received or read
 * @param answersBytes all answers that their clients have not read yet
 * @param discardedBytes part of a refused body that is read and thrown away, so that its sender can read the refusal
 * @param connections open connections; above it those that have waited longest without a request are closed
 * @param times bounds of waiting
 * @param rates bounds of calls
 */
public record HttpLimits(
        int bodyBytes,
        long bodiesBytes,
        long answersBytes,
        long discardedBytes,
        int connections,
        Times times,
        Rates rates) {
    private static final long MIB = 1 << 20;

    /**
     * Bounds of waiting.
     *
     * @param header longest time from a new connection to its first request's headers
     * @param body longest time for a body to arrive
     * @param answer longest time for answering, from the end of the body on
     * @param idle longest time that a connection waits for another request
     */
    public record Times(Duration header, Duration body, Duration answer, Duration idle) {}

    /**
     * Bounds of calls.
     *
     * @param actsPerSecond acting calls; twice as many at once
     * @param queriesPerSecond queries and reports of routers; twice as many at once
     */
    public record Rates(int actsPerSecond, int queriesPerSecond) {}

    /** Returns the bounds of the product. */
    public static HttpLimits defaults() {
        return new HttpLimits(
                (int) (8 * MIB),
                64 * MIB,
                64 * MIB,
                16 * MIB,
                256,
                new Times(
                        Duration.ofSeconds(10), Duration.ofSeconds(30), Duration.ofSeconds(60), Duration.ofSeconds(60)),
                new Rates(1_000, 4_000));
    }

    /** Returns these bounds with one time for all waiting. */
    public HttpLimits withTimes(Duration each) {
        Times same = new Times(each, each, each, each);
        return new HttpLimits(bodyBytes, bodiesBytes, answersBytes, discardedBytes, connections, same, rates);
    }

    /** Returns these bounds with other rates. */
    public HttpLimits withRates(int acts, int queries) {
        Rates others = new Rates(acts, queries);
        return new HttpLimits(bodyBytes, bodiesBytes, answersBytes, discardedBytes, connections, times, others);
    }

    HttpLimits withConnections(int most) {
        return new HttpLimits(bodyBytes, bodiesBytes, answersBytes, discardedBytes, most, times, rates);
    }

    HttpLimits withBodiesBytes(long most) {
        return new HttpLimits(bodyBytes, most, answersBytes, discardedBytes, connections, times, rates);
    }
}
