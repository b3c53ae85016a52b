package io.holdfast.emulator.sglang;

import io.holdfast.emulator.engine.Generation;

/** Where an admitted request stands in the tree and in the pool. */
final class RadixRequest {
    final Generation request;

    /** Where its blocks end in the tree; locked while it runs. */
    RadixNode node;

    /** Tokens of its own that are in the tree, from the root on. */
    int inTree;

    /** Tokens' worth of slots that it holds beside the tree. */
    int held;

    /** Tokens whose KV is computed. */
    int computed;

    /** Tokens that its last prefill had before it. */
    final int filled;

    RadixRequest(Generation request, RadixCache.Match match, int length, int slots) {
        this.request = request;
        node = match.node();
        inTree = match.tokens();
        held = slots;
        filled = length;
        computed = length;
    }
}
