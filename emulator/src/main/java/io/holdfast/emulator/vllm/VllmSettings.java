package io.holdfast.emulator.vllm;

import io.holdfast.events.VllmHashing;

/**
 * What kind of vLLM server to emulate.
 *
 * @param blocks in the pool, of which the first is never used
 * @param blockTokens tokens in a block
 * @param contextTokens the longest prompt and answer together
 * @param maxRunning requests that are scheduled together
 * @param maxBatchedTokens tokens that one pass computes at most
 * @param hashing how blocks are named
 * @param byteHashes whether events tell whole digests instead of numbers
 * @param release whose rules
 */
public record VllmSettings(
        int blocks,
        int blockTokens,
        int contextTokens,
        int maxRunning,
        int maxBatchedTokens,
        VllmHashing hashing,
        boolean byteHashes,
        Release release) {

    /** The releases that differ in what they do. */
    public enum Release {
        /** Blocks without a hash go to the head of the free queue; events are maps. */
        V0_32,
        /** Blocks without a hash go to its tail; events are arrays, salts are hashed untagged. */
        V0_22
    }

    public VllmSettings {
        check(blocks >= 2, "blocks must be at least 2, of which one is never used, not " + blocks + ".");
        check(blockTokens >= 1, "blockTokens must be at least 1, not " + blockTokens + ".");
        check(contextTokens >= 16, "contextTokens must be at least 16, not " + contextTokens + ".");
        check(
                (long) blocks * blockTokens >= contextTokens,
                "blocks times blockTokens must be at least contextTokens, or the longest request could never be served;"
                        + " it is " + (long) blocks * blockTokens + " and " + contextTokens + ".");
        check(maxRunning >= 1, "maxRunning must be at least 1, not " + maxRunning + ".");
        check(
                maxBatchedTokens >= maxRunning,
                "maxBatchedTokens must be at least maxRunning (" + maxRunning + "), not " + maxBatchedTokens + ".");
    }

    /** A small cache: 256 blocks of 16 tokens, default hashes. */
    public static VllmSettings defaults() {
        return new VllmSettings(
                256,
                16,
                2048,
                32,
                2048,
                new VllmHashing(VllmHashing.Algorithm.SHA256, VllmHashing.UNSET_SEED, VllmHashing.Form.TAGGED),
                false,
                Release.V0_32);
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
