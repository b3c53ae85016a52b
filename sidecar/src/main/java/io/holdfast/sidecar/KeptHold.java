package io.holdfast.sidecar;

import java.time.Instant;
import java.util.Optional;

/**
 * A requested hold as it outlives this process.
 *
 * @param id its number, in this process and the next
 * @param name of a declared hold; empty for one that was asked for through the API
 * @param declaration what the configuration said then, as a digest; empty where there is no name
 * @param until when its lease ends
 * @param model the model whose tokens and blocks these are, where the engine told
 * @param blocks the engine's hashes, root first
 * @param tokens what fills the blocks, where that is known
 * @param asked by what it was asked for, for whoever may see that
 */
@SuppressWarnings("ArrayRecordComponent") // two are never compared
record KeptHold(
        long id,
        String name,
        String declaration,
        Instant until,
        Optional<String> model,
        long[] blocks,
        Optional<int[]> tokens,
        PrefixSource asked) {

    boolean declared() {
        return !name.isEmpty();
    }
}
