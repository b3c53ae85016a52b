package io.holdfast.kvcached;

import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * What is written down before a limit moves, so that the next process knows whose limit it finds.
 *
 * @param startupBytes the limit that the engine started with
 * @param from the limit that stood before the move
 * @param to the limit that was to stand after it
 * @param requested what an operator asked for and is not reached yet; absent where nobody did
 * @param startupTokens tokens that the engine's cache had room for under the limit that it started with; absent where it did
 *     not tell
 */
public record LimitRecord(long startupBytes, long from, long to, OptionalLong requested, OptionalDouble startupTokens) {
    /** Of an engine that did not tell its size. */
    public LimitRecord(long startupBytes, long from, long to, OptionalLong requested) {
        this(startupBytes, from, to, requested, OptionalDouble.empty());
    }

    boolean isOurs(long limit) {
        return limit == from || limit == to;
    }
}
