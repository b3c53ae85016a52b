package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import java.util.Optional;

/**
 * Block names of a TensorRT-LLM engine.
 *
 * <p>Its events tell of no salt, so a prompt with one looks like any other, and a request of its tokens alone would store
 * another prefix. Its names differ, though: whatever begins with a block that the rule names otherwise is taken for salted.
 */
enum TensorRtNaming implements BlockNaming {
    RULE;

    @Override
    public long[] of(int[] tokens, int blockTokens) {
        return TensorRtBlockNames.of(tokens, blockTokens);
    }

    @Override
    public Optional<String> rule() {
        return Optional.of("TensorRT-LLM's radix keys");
    }

    @Override
    public KvEventSink listening(KvEventSink next) {
        return new RelayedEvents(next) {
            @Override
            public void stored(StoredBlocks chain) {
                if (chain.rooted() && isNamedOtherwise(chain)) {
                    chain.namespaced(true);
                }
                super.stored(chain);
            }
        };
    }

    private static boolean isNamedOtherwise(StoredBlocks chain) {
        int length = chain.blockTokens();
        if (chain.count() == 0 || length < 1 || chain.tokenCount() < length) {
            return false;
        }
        int[] tokens = new int[length];
        for (int i = 0; i < length; i++) {
            tokens[i] = chain.token(i);
        }
        return TensorRtBlockNames.of(tokens, length)[0] != chain.hash(0);
    }
}
