package io.holdfast.rules.vllm;

import java.time.Duration;

/**
 * Settings of the connector that lets requests hold blocks.
 *
 * @param secret that proves who may; one shorter than {@link #SHORTEST_SECRET} characters is none, and nothing is held
 * @param maxShare of the cache's blocks that all holds together may refer to
 * @param maxTtlSeconds the longest that a hold lasts without being renewed
 * @param giveWayAfter the time without anything scheduled after which holds make room for a request that waits
 */
public record Connector(String secret, double maxShare, int maxTtlSeconds, Duration giveWayAfter) {
    /** Characters that a secret has at least. */
    public static final int SHORTEST_SECRET = 16;

    private static final double LARGEST_SHARE = 0.9;

    public Connector {
        secret = secret.strip();
        check(
                maxShare > 0 && maxShare <= LARGEST_SHARE,
                "The connector's share must be above 0 and at most " + LARGEST_SHARE + ", not " + maxShare + ".");
        check(maxTtlSeconds >= 1, "The connector's longest ttl must be at least 1 s, not " + maxTtlSeconds + ".");
        check(!giveWayAfter.isNegative(), "The connector's time to give way must not be negative.");
    }

    /** A quarter of the cache for up to 15 minutes, giving way after half a second. */
    public static Connector of(String secret) {
        return new Connector(secret, 0.25, 900, Duration.ofMillis(500));
    }

    public Connector withMaxShare(double value) {
        return new Connector(secret, value, maxTtlSeconds, giveWayAfter);
    }

    public Connector withMaxTtlSeconds(int value) {
        return new Connector(secret, maxShare, value, giveWayAfter);
    }

    public Connector withGiveWayAfter(Duration value) {
        return new Connector(secret, maxShare, maxTtlSeconds, value);
    }

    public boolean hasSecret() {
        return secret.length() >= SHORTEST_SECRET;
    }

    /** Leaves the secret out, so that no log has it. */
    @Override
    public String toString() {
        return "Connector[maxShare=" + maxShare + ", maxTtlSeconds=" + maxTtlSeconds + ", giveWayAfter=" + giveWayAfter
                + "]";
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
