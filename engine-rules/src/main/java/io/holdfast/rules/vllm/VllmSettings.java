package io.holdfast.rules.vllm;

import io.holdfast.events.VllmHashing;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Settings of a vLLM server to emulate.
 *
 * @param sizes of the cache and of requests
 * @param maxRunning requests that are scheduled together
 * @param maxBatchedTokens tokens that one pass computes at most
 * @param hashing how blocks are named
 * @param byteHashes whether events tell whole digests instead of numbers
 * @param release whose rules
 * @param policy which requests go first
 * @param stage the server that is emulated in place of vLLM, where it is one of an optimisation log
 * @param connector with which requests may hold blocks, where it is loaded
 * @param nixlLease how long NIXL keeps what a request has asked it to, where that is loaded
 */
public record VllmSettings(
        Sizes sizes,
        int maxRunning,
        int maxBatchedTokens,
        VllmHashing hashing,
        boolean byteHashes,
        Release release,
        Policy policy,
        Optional<Stage> stage,
        Optional<Connector> connector,
        Optional<Duration> nixlLease) {

    /** The releases that differ in what they do. */
    public enum Release {
        /** Blocks without a hash go to the head of the free queue; events are maps. */
        V0_32,
        /** Blocks without a hash go to its tail; events are arrays, salts are hashed untagged. */
        V0_22
    }

    /** The order of waiting requests, and which running one makes room for others. */
    public enum Policy {
        /** Requests run as they came; the one admitted last makes room. */
        FCFS,
        /**
         * Requests run by priority, small numbers first, then as they came; the one that would be the last makes room.
         */
        PRIORITY
    }

    /**
     * Sizes of the cache and of requests.
     *
     * @param blocks in the pool, of which the first is never used
     * @param blockTokens tokens in a block
     * @param contextTokens the longest prompt and answer together
     */
    public record Sizes(int blocks, int blockTokens, int contextTokens) {
        public Sizes {
            check(blocks >= 2, "blocks must be at least 2, of which one is never used, not " + blocks + ".");
            check(blockTokens >= 1, "blockTokens must be at least 1, not " + blockTokens + ".");
            check(contextTokens >= 16, "contextTokens must be at least 16, not " + contextTokens + ".");
            check(
                    (long) blocks * blockTokens >= contextTokens,
                    "blocks times blockTokens must be at least contextTokens, or the longest request could never be"
                            + " served; it is " + (long) blocks * blockTokens + " and " + contextTokens + ".");
        }
    }

    public VllmSettings {
        check(maxRunning >= 1, "maxRunning must be at least 1, not " + maxRunning + ".");
        check(
                maxBatchedTokens >= maxRunning,
                "maxBatchedTokens must be at least maxRunning (" + maxRunning + "), not " + maxBatchedTokens + ".");
        stage.ifPresent(it -> check(it, maxRunning, sizes));
        check(
                stage.isEmpty() || (connector.isEmpty() && nixlLease.isEmpty()),
                "A connector is for vLLM itself; leave it out for a profile.");
        check(
                connector.isEmpty() || nixlLease.isEmpty(),
                "An engine loads one connector: leave Holdfast's or NIXL's out.");
        nixlLease.ifPresent(
                lease -> check(lease.isPositive(), "NIXL's lease must be longer than 0, not " + lease + "."));
    }

    private static void check(Stage stage, int running, Sizes sizes) {
        int context = sizes.contextTokens();
        long tokens = (sizes.blocks() - 1L) * sizes.blockTokens();
        check(
                !stage.profile().inSlots() || (long) running * context <= tokens,
                "The " + stage.profile().text() + " profile reserves " + context + " tokens for each of " + running
                        + " requests, and has " + tokens + ".");
        long graphs = (long) stage.rates().size().graphBlocks() * sizes.blockTokens();
        check(
                stage.profile() != Profile.GRAPH || tokens - graphs >= context,
                "Capturing graphs takes " + graphs + " of " + tokens + " tokens, which leaves too few for a context of "
                        + context + " tokens.");
    }

    /** A small cache: 256 blocks of 16 tokens, default hashes. */
    public static VllmSettings defaults() {
        return new VllmSettings(
                new Sizes(256, 16, 2048),
                32,
                2048,
                new VllmHashing(VllmHashing.Algorithm.SHA256, VllmHashing.UNSET_SEED, VllmHashing.Form.TAGGED),
                false,
                Release.V0_32,
                Policy.FCFS,
                Optional.empty(),
                Optional.empty(),
                Optional.empty());
    }

    public int blocks() {
        return sizes.blocks();
    }

    public int blockTokens() {
        return sizes.blockTokens();
    }

    public int contextTokens() {
        return sizes.contextTokens();
    }

    public VllmSettings withSizes(int blocks, int blockTokens, int contextTokens) {
        Sizes value = new Sizes(blocks, blockTokens, contextTokens);
        return new VllmSettings(
                value, maxRunning, maxBatchedTokens, hashing, byteHashes, release, policy, stage, connector, nixlLease);
    }

    /** Returns these settings with so many requests scheduled together, and so many tokens in one pass. */
    public VllmSettings withBatch(int running, int batched) {
        return new VllmSettings(
                sizes, running, batched, hashing, byteHashes, release, policy, stage, connector, nixlLease);
    }

    public VllmSettings withHashing(VllmHashing value, boolean bytes) {
        return new VllmSettings(
                sizes, maxRunning, maxBatchedTokens, value, bytes, release, policy, stage, connector, nixlLease);
    }

    /**
     * Returns these settings with hashes by the options of a real server.
     *
     * @param algorithm its {@code --prefix-caching-hash-algo}
     * @param seed its {@code PYTHONHASHSEED}, empty as if unset
     * @throws IllegalArgumentException with one sentence for an algorithm that there is not
     */
    public VllmSettings withHashes(String algorithm, String seed, boolean bytes) {
        VllmHashing.Algorithm named = VllmHashing.Algorithm.of(algorithm)
                .orElseThrow(
                        () -> new IllegalArgumentException("There is no hash algorithm '" + algorithm + "'; there are "
                                + Arrays.stream(VllmHashing.Algorithm.values())
                                        .map(VllmHashing.Algorithm::option)
                                        .collect(Collectors.joining(", "))
                                + "."));
        return withHashing(
                new VllmHashing(
                        named,
                        seed.isEmpty() ? VllmHashing.UNSET_SEED : seed,
                        switch (release) {
                            case V0_32 -> VllmHashing.Form.TAGGED;
                            case V0_22 -> VllmHashing.Form.PLAIN;
                        }),
                bytes);
    }

    public VllmSettings withRelease(Release value) {
        return new VllmSettings(
                sizes, maxRunning, maxBatchedTokens, hashing, byteHashes, value, policy, stage, connector, nixlLease);
    }

    public VllmSettings withPolicy(Policy value) {
        return new VllmSettings(
                sizes, maxRunning, maxBatchedTokens, hashing, byteHashes, release, value, stage, connector, nixlLease);
    }

    /** Returns these settings with the connector loaded. */
    public VllmSettings withConnector(Connector value) {
        return new VllmSettings(
                sizes,
                maxRunning,
                maxBatchedTokens,
                hashing,
                byteHashes,
                release,
                policy,
                stage,
                Optional.of(value),
                nixlLease);
    }

    /** Returns these settings with NIXL loaded, which keeps blocks for so long. */
    public VllmSettings withNixlLease(Duration value) {
        return new VllmSettings(
                sizes,
                maxRunning,
                maxBatchedTokens,
                hashing,
                byteHashes,
                release,
                policy,
                stage,
                connector,
                Optional.of(value));
    }

    VllmSettings withStage(Stage value) {
        return new VllmSettings(
                sizes,
                maxRunning,
                maxBatchedTokens,
                hashing,
                byteHashes,
                release,
                policy,
                Optional.of(value),
                connector,
                nixlLease);
    }

    /** Returns true if blocks stay for later prompts. */
    public boolean keepsPrefixes() {
        return stage.map(it -> it.profile().keepsPrefixes()).orElse(true);
    }

    boolean is(Profile profile) {
        return stage.filter(it -> it.profile() == profile).isPresent();
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
