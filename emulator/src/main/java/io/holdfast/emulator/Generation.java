package io.holdfast.emulator;

import java.util.Arrays;

/** One request in the engine: its tokens, its slots, its stamps. Belongs to the engine's thread once submitted. */
final class Generation {
    private static final int UNKNOWN = -1;

    final int[] prompt;
    final String namespace;
    final int maxNew;
    final boolean streamed;
    final long arrivalNanos;
    final TokenListener listener;

    private int[] answer = new int[16];
    private int answered;
    private int cached = UNKNOWN;

    /** Where its blocks end in the tree; locked while it runs. */
    RadixNode node;

    /** Tokens of its own that are in the tree, from the root on. */
    int inTree;

    /** Tokens' worth of slots that it holds beside the tree. */
    int held;

    /** Tokens whose KV is computed. */
    int computed;

    /** Tokens that its last prefill had before it. */
    int filled;

    Generation(
            int[] prompt, String namespace, int maxNew, boolean streamed, long arrivalNanos, TokenListener listener) {
        this.prompt = prompt;
        this.namespace = namespace;
        this.maxNew = maxNew;
        this.streamed = streamed;
        this.arrivalNanos = arrivalNanos;
        this.listener = listener;
        node = new RadixNode(null, new long[0], 0);
    }

    /** Prompt and answer so far. */
    int[] tokens() {
        int[] all = Arrays.copyOf(prompt, prompt.length + answered);
        System.arraycopy(answer, 0, all, prompt.length, answered);
        return all;
    }

    void answer(int token) {
        if (answered == answer.length) {
            answer = Arrays.copyOf(answer, answered << 1);
        }
        answer[answered++] = token;
    }

    int answered() {
        return answered;
    }

    int lastToken() {
        return answer[answered - 1];
    }

    int left() {
        return maxNew - answered;
    }

    boolean done() {
        return answered >= maxNew;
    }

    /** What its first prefill found in the cache; a prefill after a retraction does not change it. */
    int cachedTokens() {
        return Math.max(cached, 0);
    }

    void admitted(RadixCache.Match match, int length, int slots) {
        if (cached == UNKNOWN) {
            cached = match.tokens();
        }
        node = match.node();
        inTree = match.tokens();
        held = slots;
        filled = length;
        computed = length;
    }
}
