package io.holdfast.rules.phases;

import io.holdfast.rules.engine.Generation;
import java.util.Optional;

/** Place of a request in the queue, in its prefill and in the cache. */
final class PhaseRequest {
    final Generation request;

    /** Names of its prompt's whole blocks, where blocks are shared. */
    final long[] names;

    /** Tokens of its prompt whose KV is there. */
    int computed;

    /** Tokens that come back from outside the GPU with its first chunk. */
    int restoring;

    /** Tokens that its prefill has to compute at all. */
    int uncached;

    /** Blocks that it may take in the end, and that it has taken. */
    int committed;

    int taken;

    /** Blocks of its own beginning that are in the tree, and the last of them; locked while it runs. */
    int shared;

    Optional<PrefixTree.Node> node = Optional.empty();

    PhaseRequest(Generation request, long[] names) {
        this.request = request;
        this.names = names;
    }

    int promptTokens() {
        return request.prompt().length;
    }

    boolean prefilled() {
        return computed == promptTokens();
    }
}
