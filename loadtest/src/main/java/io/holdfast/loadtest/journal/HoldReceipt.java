package io.holdfast.loadtest.journal;

/**
 * Record of what was really done in a hold step.
 *
 * @param id name by which the hold is released; empty when there is none
 * @param reason in the holder's words
 */
public record HoldReceipt(Kind kind, String id, int wantedBlocks, int heldBlocks, long heldTokens, String reason) {
    /** The ways in which a hold step can go. */
    public enum Kind {
        /** Some of the prefix or all of it is held. */
        HELD,
        /** A hold was requested and nothing is held. */
        NOT_HELD,
        /** Something was switched on that claims to hold nothing. */
        SWITCHED,
        /** A sham was answered. */
        SHAM,
        /** Neither was done. */
        SKIPPED
    }

    public static HoldReceipt held(String id, int wantedBlocks, int heldBlocks, long heldTokens, String reason) {
        return new HoldReceipt(Kind.HELD, id, wantedBlocks, heldBlocks, heldTokens, reason);
    }

    public static HoldReceipt notHeld(String id, int wantedBlocks, String reason) {
        return new HoldReceipt(Kind.NOT_HELD, id, wantedBlocks, 0, 0, reason);
    }

    public static HoldReceipt switched(String reason) {
        return new HoldReceipt(Kind.SWITCHED, "", 0, 0, 0, reason);
    }

    public static HoldReceipt sham(String reason) {
        return new HoldReceipt(Kind.SHAM, "", 0, 0, 0, reason);
    }

    public static HoldReceipt skipped(String reason) {
        return new HoldReceipt(Kind.SKIPPED, "", 0, 0, 0, reason);
    }

    public boolean isInFull() {
        return kind == Kind.HELD && wantedBlocks > 0 && heldBlocks >= wantedBlocks;
    }
}
