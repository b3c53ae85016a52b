package io.holdfast.sidecar.config;

import java.time.Duration;

/**
 * How much of the process strangers may use through the HTTP API.
 *
 * <p>The API shares its heap (512 MiB with the launcher's default) with the thread that ends leases, so that whoever could
 * fill it could keep pins. The numbers together stay below half of it.
 *
 * @param bodyBytes the largest body
 * @param bodiesBytes all bodies that are being received or read
 * @param answersBytes all answers that their clients have not read yet
 * @param discardedBytes how much of a refused body is read and thrown away, so that its sender can read the refusal
 * @param connections open connections; above it those that have waited longest without a request are closed
 * @param header how long a new connection may take to its first request's headers
 * @param body how long a body may take
 * @param answer how long answering may take from the end of the body on
 * @param idle how long a connection may wait for another request
 * @param actsPerSecond acting calls; twice as many at once
 * @param queriesPerSecond queries and reports of routers; twice as many at once
 */
public record HttpLimits(
        int bodyBytes,
        long bodiesBytes,
        long answersBytes,
        long discardedBytes,
        int connections,
        Duration header,
        Duration body,
        Duration answer,
        Duration idle,
        int actsPerSecond,
        int queriesPerSecond) {
    private static final long MIB = 1 << 20;

    public static HttpLimits defaults() {
        return new HttpLimits(
                (int) (8 * MIB),
                64 * MIB,
                64 * MIB,
                16 * MIB,
                256,
                Duration.ofSeconds(10),
                Duration.ofSeconds(30),
                Duration.ofSeconds(60),
                Duration.ofSeconds(60),
                1_000,
                4_000);
    }

    public HttpLimits withTimes(Duration each) {
        return new HttpLimits(
                bodyBytes,
                bodiesBytes,
                answersBytes,
                discardedBytes,
                connections,
                each,
                each,
                each,
                each,
                actsPerSecond,
                queriesPerSecond);
    }

    HttpLimits withConnections(int most) {
        return new HttpLimits(
                bodyBytes,
                bodiesBytes,
                answersBytes,
                discardedBytes,
                most,
                header,
                body,
                answer,
                idle,
                actsPerSecond,
                queriesPerSecond);
    }

    public HttpLimits withRates(int acts, int queries) {
        return new HttpLimits(
                bodyBytes,
                bodiesBytes,
                answersBytes,
                discardedBytes,
                connections,
                header,
                body,
                answer,
                idle,
                acts,
                queries);
    }

    HttpLimits withBodiesBytes(long most) {
        return new HttpLimits(
                bodyBytes,
                most,
                answersBytes,
                discardedBytes,
                connections,
                header,
                body,
                answer,
                idle,
                actsPerSecond,
                queriesPerSecond);
    }
}
