package io.holdfast.core.rank;

/** Limits how many holds may begin now by their rank. */
public final class HoldPace {
    /*
     * Each hold is a call to the engine, and on some a request of its own, so they begin no faster than an engine can
     * bear beside its users' requests: on a slow one by how many of those it serves, on a fast one by the second. What
     * was not begun in time is chosen again with the next choice, if it still ranks.
     */
    private static final double A_SECOND = 2;
    private static final double A_REQUEST = 0.5;
    private static final double AT_ONCE = 8;

    private double bySecond = AT_ONCE;
    private double byRequest;
    private long nowNanos;
    private long requests;

    /** {@code requests} is how many the engine was seen to serve so far. */
    public void now(long nanos, long seen) {
        bySecond = Math.min(AT_ONCE, bySecond + A_SECOND * (nanos - nowNanos) / 1e9);
        byRequest = Math.min(AT_ONCE, byRequest + A_REQUEST * (seen - requests));
        nowNanos = nanos;
        requests = seen;
    }

    public int mayBegin() {
        return (int) Math.max(0, Math.min(bySecond, byRequest));
    }

    public void begun(long holds) {
        bySecond -= holds;
        byRequest -= holds;
    }
}
