package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.Generation;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A request in vLLM's scheduler: its blocks, and how far it got. */
final class VllmRequest {
    final Generation generation;

    /** Names of its full blocks so far, as far as they were named. */
    final List<BlockName> names = new ArrayList<>();

    /** The whole digest of the last named block. */
    byte[] digest;

    /** Its block table; entries from {@link #held} on are not its own. */
    int[] table = new int[8];

    int held;

    /** So many of its blocks can be found by others. */
    int registered;

    /** Tokens whose KV is in its blocks, or will be after this pass. */
    int computed;

    /** Tokens that this pass computes. */
    int scheduled;

    /**
     * Tokens that it had from the cache as far as its client will hear: at its first admission, or in 0.22 at its last
     * one.
     */
    int cached;

    /** Tokens that come back from outside the GPU, and how many of them no pass has brought yet. */
    int restored;

    int restoring;

    /** Holds that were given back when it arrived. */
    int released;

    boolean preempted;
    long admittedNanos;
    long firstTokenNanos;
    long lastTokenNanos;

    /** @param root the digest that stands for the parent of the first block */
    VllmRequest(Generation generation, byte[] root) {
        this.generation = generation;
        this.digest = root;
    }

    int length() {
        return generation.length();
    }

    /** Returns the tokens of its prompt and of the longest answer to it. */
    int longest() {
        return generation.prompt().length + generation.maxAnswer();
    }

    /** Returns true if this pass reads its prompt, or what it lost when it was preempted. */
    boolean isRead() {
        return generation.answered() == 0 || scheduled > 1;
    }

    /** Returns the tokens that this pass brings back. */
    int takeRestoring() {
        int tokens = restoring;
        restoring = 0;
        return tokens;
    }

    /** Notes a block behind so many others. */
    void put(int position, int block) {
        if (position == table.length) {
            table = Arrays.copyOf(table, position << 1);
        }
        table[position] = block;
    }
}
