package io.holdfast.rules.sglang;

import io.holdfast.rules.sglang.SglangSettings.Variant;

/** Puts what requests have computed into the tree, and gives back what they hold. */
final class RequestKv {
    private final RadixCache cache;
    private final Variant variant;
    private final int page;

    RequestKv(RadixCache cache, SglangSettings settings) {
        this.cache = cache;
        this.variant = settings.variant();
        this.page = settings.pageTokens();
    }

    /** A prefill, or a chunk of one, is done: what it computed can be found from now on. */
    void keep(RadixRequest active) {
        store(active, active.filled);
    }

    /** The request has said all: all of it that this variant keeps stays in the tree, its last token was not computed. */
    void finish(RadixRequest active) {
        store(active, variant.storesAnswers() ? active.computed : active.filled);
        release(active);
    }

    /** Gives all of it back, but for what is in the tree already. */
    void release(RadixRequest active) {
        cache.giveBack(active.held);
        active.held = 0;
        cache.unlock(active.node);
    }

    /**
     * Puts the first tokens of the request into the tree and moves its lock there; its copies of known blocks are freed. The
     * release counts a request's hits once however often it is stored, and stores its prompt once more when there are pages of
     * the answer: one priority above them, and cut off from them.
     */
    private void store(RadixRequest active, int length) {
        TokenChain chain = active.chain();
        int blocks = length / page;
        RadixCache.Insertion stored = cache.insert(chain, blocks, active.priority, active.counted);
        int promptBlocks = active.request.prompt().length / page;
        if (variant == Variant.STOCK) {
            active.counted = Math.max(active.counted, blocks);
            if (promptBlocks < blocks) {
                cache.insert(chain, promptBlocks, active.priority + 1, promptBlocks);
            }
        }
        int inTree = blocks * page;
        cache.giveBack(Math.max(0, stored.present() - active.inTree));
        active.held -= inTree - active.inTree;
        active.inTree = inTree;
        cache.lock(stored.node());
        cache.unlock(active.node);
        active.node = stored.node();
    }
}
