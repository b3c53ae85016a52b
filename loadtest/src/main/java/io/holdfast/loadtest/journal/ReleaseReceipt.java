package io.holdfast.loadtest.journal;

import java.util.Optional;

/** Record of what was really done when a leg was over. */
public record ReleaseReceipt(Kind kind, String reason) {
    private static final String NOTHING = "nothing was held: ";

    /** The ways in which a release can go. */
    public enum Kind {
        /** The hold stood until now, and is over. */
        RELEASED,
        /** The holder had released the hold already: the leg ran without it, wholly or in part. */
        LOST,
        /** The engine did not keep what it had agreed to keep. That is how its pins work, not a fault of the leg. */
        BROKEN,
        /** The hold stood until now; its end was requested and not answered, so it may stand until the next flush. */
        UNANSWERED,
        /** A sham was answered. */
        SHAM,
        /** Nothing was done. */
        SKIPPED
    }

    public static ReleaseReceipt released(String reason) {
        return new ReleaseReceipt(Kind.RELEASED, reason);
    }

    /** Returns the receipt of an arm that may decide to hold nothing, and did. */
    public static ReleaseReceipt nothingHeld(String why) {
        return released(NOTHING + why);
    }

    /**
     * Returns why the arm held nothing at the end of the leg, in its own words; absent where it held, or gave no
     * reason.
     */
    public Optional<String> whyNothing() {
        return Optional.of(reason).filter(said -> kind == Kind.RELEASED && said.startsWith(NOTHING));
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
