package io.holdfast.loadtest.journal;

/** What was really done when a leg was over. */
public record ReleaseReceipt(Kind kind, String reason) {
    /** The ways in which a release can go. */
    public enum Kind {
        /** The hold stood until now, and is over. */
        RELEASED,
        /** Whoever holds had let go already: the leg ran without the hold, wholly or in part. */
        LOST,
        /** The engine did not keep what it had agreed to keep. That is how its pins work, not a fault of the leg. */
        BROKEN,
        /** The hold stood until now; what ends it was asked for and not answered, so it may stand on until the next flush. */
        UNANSWERED,
        /** A sham was answered. */
        SHAM,
        /** Nothing was done. */
        SKIPPED
    }

    public static ReleaseReceipt released(String reason) {
        return new ReleaseReceipt(Kind.RELEASED, reason);
    }

    public static ReleaseReceipt lost(String reason) {
        return new ReleaseReceipt(Kind.LOST, reason);
    }

    public static ReleaseReceipt broken(String reason) {
        return new ReleaseReceipt(Kind.BROKEN, reason);
    }

    public static ReleaseReceipt unanswered(String reason) {
        return new ReleaseReceipt(Kind.UNANSWERED, reason);
    }

    public static ReleaseReceipt sham(String reason) {
        return new ReleaseReceipt(Kind.SHAM, reason);
    }

    public static ReleaseReceipt skipped(String reason) {
        return new ReleaseReceipt(Kind.SKIPPED, reason);
    }
}
