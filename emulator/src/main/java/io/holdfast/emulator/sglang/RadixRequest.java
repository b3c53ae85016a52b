package io.holdfast.emulator.sglang;

import io.holdfast.emulator.engine.Generation;
import java.util.Optional;

/** A request with its blocks' names and, once admitted, where it stands in the tree and in the pool. */
final class RadixRequest {
    final Generation request;

    /** Empty for a request without one. */
    final Optional<SessionHolds.Session> session;

    private final TokenChain chain;

    /** Where its blocks end in the tree; locked while it runs. */
    RadixNode node;

    /** Tokens of its own that are in the tree, from the root on. */
    int inTree;

    /** Blocks that were counted as hits of this request. */
    int counted;

    /** Tokens' worth of slots that it holds beside the tree. */
    int held;

    /** Tokens whose KV is computed. */
    int computed;

    /** Tokens that its last prefill had before it. */
    int filled;

    RadixRequest(Generation request, Optional<SessionHolds.Session> session, TokenChain chain) {
        this.request = request;
        this.session = session;
        this.chain = chain;
        this.node = RadixNode.root(chain.space());
    }

    /** Prompt and answer so far, named. */
    TokenChain chain() {
        return chain.length() == request.length() ? chain : chain.grow(request.tokens());
    }

    /** @param match all on the GPU, and locked */
    void admitted(RadixCache.Match match, int slots) {
        node = match.node();
        inTree = match.tokens();
        counted = 0;
        held = slots;
        filled = request.length();
        computed = filled;
    }
}
