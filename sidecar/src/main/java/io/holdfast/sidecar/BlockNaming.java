package io.holdfast.sidecar;

import io.holdfast.core.index.KvEventSink;
import java.util.Optional;

/** How one engine names the blocks of a prompt. */
interface BlockNaming {
    /**
     * The names of the whole blocks of a prompt, root first; any thread.
     *
     * @throws ApiError where they cannot be computed, with the reason
     */
    long[] of(int[] tokens, int blockTokens);

    /** By which rule, for people; absent where there is but one, or while it is not known. */
    default Optional<String> rule() {
        return Optional.empty();
    }

    /** Hears what the engine stores, where that tells how it names blocks, before {@code next} does. */
    default KvEventSink listening(KvEventSink next) {
        return next;
    }
}
