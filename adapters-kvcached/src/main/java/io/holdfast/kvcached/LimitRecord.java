package io.holdfast.kvcached;

import java.util.OptionalLong;

/**
 * Record written before a limit moves, so that the next process knows whose limit it finds.
 *
 * @param startupBytes the limit that the engine started with
 * @param from the limit that stood before the move
 * @param to the limit that was to stand after it
 * @param requested the limit that an operator requested and that is not reached yet; absent where there is no request
 */
public record LimitRecord(long startupBytes, long from, long to, OptionalLong requested) {
    boolean isOurs(long limit) {
        return limit == from || limit == to;
    }
}
