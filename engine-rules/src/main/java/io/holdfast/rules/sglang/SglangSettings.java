package io.holdfast.rules.sglang;

/**
 * Settings of an SGLang server to emulate.
 *
 * @param maxRunning requests that decode together
 * @param chunkedPrefillTokens prompt tokens that one pass prefills at most, whole pages
 * @param eviction which leaf goes first
 * @param sessions whether requests with a session protect their prefix until it is closed
 * @param streaming whether there are streaming sessions, each with a lock on what its request found
 * @param hostRatio size of the host tier as a multiple of the capacity, 0 for none
 * @param policy who of the waiting goes first
 */
public record SglangSettings(
        Sizes sizes,
        int maxRunning,
        int chunkedPrefillTokens,
        Variant variant,
        Eviction eviction,
        boolean sessions,
        boolean streaming,
        double hostRatio,
        Policy policy) {
    public static final int LEAST_CONTEXT = 16;

    /** {@code --schedule-policy}. */
    public enum Policy {
        /** First come, first served. */
        FCFS,
        /** Longest cached prefix first, as long as no more than 128 wait. */
        LPM
    }

    /**
     * Sizes in tokens.
     *
     * @param capacityTokens size of the KV cache, whole pages
     * @param pageTokens tokens in a block
     * @param contextTokens the model's context length
     */
    public record Sizes(int capacityTokens, int pageTokens, int contextTokens) {
        public Sizes {
            check(pageTokens >= 1, "pageTokens must be at least 1, not " + pageTokens + ".");
            check(
                    capacityTokens >= 16 && capacityTokens % pageTokens == 0,
                    "capacityTokens must be at least 16 and whole pages of " + pageTokens + " tokens, not "
                            + capacityTokens + ".");
            check(
                    contextTokens >= LEAST_CONTEXT,
                    "contextTokens must be at least " + LEAST_CONTEXT + ", not " + contextTokens + ".");
        }
    }

    /** Code of the server: the release, or one of the branches that pin. */
    public enum Variant {
        /** The release: no pin routes. */
        STOCK,
        /** The branch whose pins lock blocks on the GPU, with its traps. */
        PIN_GPU,
        /** The branch whose pins keep blocks in the host tier. */
        PIN_HOST;

        /** Returns true if a full pool evicts only what is missing, false if it evicts all that is wanted again. */
        boolean evictsOnlyMissing() {
            return this == STOCK;
        }

        /** Returns true if a request leaves its answer in the tree, false if it leaves its prompt alone. */
        boolean storesAnswers() {
            return this == STOCK;
        }

        /** Returns true if pins name blocks. */
        boolean pinsBlocks() {
            return this == PIN_GPU || this == PIN_HOST;
        }
    }

    /** {@code --radix-eviction-policy}. */
    public enum Eviction {
        LRU,
        LFU,
        SLRU,
        PRIORITY
    }

    public SglangSettings {
        int pageTokens = sizes.pageTokens();
        check(maxRunning >= 1, "maxRunning must be at least 1, not " + maxRunning + ".");
        check(
                chunkedPrefillTokens >= pageTokens && chunkedPrefillTokens % pageTokens == 0,
                "chunkedPrefillTokens must be whole pages of " + pageTokens + " tokens, not " + chunkedPrefillTokens
                        + ".");
        check(
                hostRatio >= 0 && hostRatio <= 1_000,
                "hostRatio must be 0 (no host tier) to 1000, not " + hostRatio + ".");
        check(
                !streaming || (variant == Variant.STOCK && !sessions && hostRatio == 0),
                "Streaming sessions are played on the released engine alone, without other sessions and without a host"
                        + " tier.");
        check(!sessions || variant == Variant.STOCK, "Only the released engine holds sessions, not " + variant + ".");
    }

    /** A small cache: 4096 tokens in blocks of 16, least recently used first, nothing special. */
    public static SglangSettings defaults() {
        return new SglangSettings(
                new Sizes(4096, 16, 8192), 32, 8192, Variant.STOCK, Eviction.LRU, false, false, 0, Policy.FCFS);
    }

    public int capacityTokens() {
        return sizes.capacityTokens();
    }

    public int pageTokens() {
        return sizes.pageTokens();
    }

    public int contextTokens() {
        return sizes.contextTokens();
    }

    public SglangSettings withSizes(int capacity, int page, int context) {
        int chunk = Math.max(page, chunkedPrefillTokens / page * page);
        Sizes value = new Sizes(capacity, page, context);
        return new SglangSettings(value, maxRunning, chunk, variant, eviction, sessions, streaming, hostRatio, policy);
    }

    public SglangSettings withMaxRunning(int value) {
        return new SglangSettings(
                sizes, value, chunkedPrefillTokens, variant, eviction, sessions, streaming, hostRatio, policy);
    }

    public SglangSettings withChunkedPrefillTokens(int value) {
        return new SglangSettings(sizes, maxRunning, value, variant, eviction, sessions, streaming, hostRatio, policy);
    }

    public SglangSettings withVariant(Variant value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, value, eviction, sessions, streaming, hostRatio, policy);
    }

    public SglangSettings withEviction(Eviction value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, variant, value, sessions, streaming, hostRatio, policy);
    }

    public SglangSettings withSessions(boolean value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, variant, eviction, value, streaming, hostRatio, policy);
    }

    public SglangSettings withStreaming(boolean value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, variant, eviction, sessions, value, hostRatio, policy);
    }

    public SglangSettings withHostRatio(double value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, variant, eviction, sessions, streaming, value, policy);
    }

    public SglangSettings withPolicy(Policy value) {
        return new SglangSettings(
                sizes, maxRunning, chunkedPrefillTokens, variant, eviction, sessions, streaming, hostRatio, value);
    }

    /** Size of the host tier: the engine rounds to whole pages and adds one. */
    public int hostTokens() {
        return hostRatio == 0
                ? 0
                : Math.toIntExact((long) (hostRatio * capacityTokens()) / pageTokens() * pageTokens() + pageTokens());
    }

    /** The longest prompt that is served. */
    public int maxPromptTokens() {
        return maxRequestTokens() - 5;
    }

    /** The most tokens that a prompt and its answer may have together, and one. */
    public int maxRequestTokens() {
        return Math.min(contextTokens(), capacityTokens()) - 1;
    }

    /**
     * The longest answer to a prompt of so many tokens; the release leaves room for it in an empty cache, where the
     * prompt and the page that admission adds leave any.
     */
    public int maxAnswerTokens(int prompt) {
        int most = maxRequestTokens() - prompt - 1;
        if (variant == Variant.STOCK) {
            int paged = (prompt + pageTokens() - 1) / pageTokens() * pageTokens();
            most = Math.min(most, capacityTokens() - paged - pageTokens() - 1);
        }
        return Math.max(0, most);
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
