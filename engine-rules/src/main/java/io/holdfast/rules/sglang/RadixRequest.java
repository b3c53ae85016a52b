package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Generation;
import java.util.Optional;

/** A request with its blocks' names and, once admitted, where it stands in the tree and in the pool. */
final class RadixRequest {
    final Generation request;

    /** Empty for a request without one. */
    final Optional<SessionHolds.Session> session;

    /** Priority of its blocks, once they are stored. */
    final long priority;

    private final TokenChain chain;

    /** Node at which its blocks end in the tree; locked while it runs. */
    RadixNode node;

    /** Tokens of its own that are in the tree, from the root on. */
    int inTree;

    /** Blocks that were counted as hits of this request. */
    int counted;

    /** Tokens' worth of slots that it holds beside the tree. */
    int held;

    /** Tokens whose KV is computed. */
    int computed;

    /** Tokens that its last prefill, or chunk of one, left computed. */
    int filled;

    /** True if its client went away while it ran: it ends with its next token. */
    boolean aborted;

    /** True if it was retracted once. */
    boolean retracted;

    RadixRequest(Generation request, Optional<SessionHolds.Session> session, TokenChain chain, long priority) {
        this.request = request;
        this.session = session;
        this.chain = chain;
        this.priority = priority;
        this.node = RadixNode.root(chain.space());
    }

    /** Prompt and answer so far, named. */
    TokenChain chain() {
        return chain.length() == request.length() ? chain : chain.grow(request.tokens());
    }

    /** Tokens of prompt and answer so far. */
    int length() {
        return request.length();
    }

    /** Returns true if it ends now. */
    boolean ends() {
        return aborted || request.done();
    }

    /** @param match all on the GPU, and locked */
    void admitted(RadixCache.Match match) {
        node = match.node();
        inTree = match.tokens();
        counted = 0;
        held = 0;
        computed = match.tokens();
        filled = computed;
    }
}
