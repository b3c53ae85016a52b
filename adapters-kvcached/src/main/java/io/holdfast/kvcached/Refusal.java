package io.holdfast.kvcached;

/**
 * Reason why a limit is not moved as requested.
 *
 * @param never whether it can never be, on this engine; else not now
 * @param sentence the cause and the mend
 */
public record Refusal(boolean never, String sentence) {}
