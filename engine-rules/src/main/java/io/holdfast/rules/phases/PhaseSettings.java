package io.holdfast.rules.phases;

/**
 * Settings of the server to emulate, with its model.
 *
 * @param running requests at once
 * @param blocks in the cache; slots are as many blocks as a context has
 * @param blockTokens tokens in a block
 * @param contextTokens the longest prompt and answer together
 * @param chunkTokens tokens that a step prefills at most, where prompts are cut
 * @param chunkAbove how many uncached tokens a prompt may have without being cut
 */
public record PhaseSettings(
        Profile profile,
        Rates rates,
        int running,
        int blocks,
        int blockTokens,
        int contextTokens,
        int chunkTokens,
        int chunkAbove) {

    private static final int BLOCK = 16;

    public PhaseSettings {
        check(running >= 1, "running must be at least 1, not " + running + ".");
        check(blockTokens >= 1, "blockTokens must be at least 1, not " + blockTokens + ".");
        check(contextTokens >= 16, "contextTokens must be at least 16, not " + contextTokens + ".");
        check(
                (long) blocks * blockTokens >= contextTokens,
                "blocks times blockTokens must be at least contextTokens, or the longest request could never be served;"
                        + " it is " + (long) blocks * blockTokens + " and " + contextTokens + ".");
        check(
                !profile.inSlots() || (long) running * contextTokens <= (long) blocks * blockTokens,
                "The " + profile.text() + " profile reserves " + contextTokens + " tokens for each of " + running
                        + " requests, and has " + (long) blocks * blockTokens + ".");
        check(chunkTokens >= 1, "chunkTokens must be at least 1, not " + chunkTokens + ".");
        check(chunkAbove >= 0, "chunkAbove must be 0 or more, not " + chunkAbove + ".");
        check(
                profile != Profile.GRAPH || (long) (blocks - rates.graphBlocks()) * blockTokens >= contextTokens,
                "Capturing graphs takes " + rates.graphBlocks() + " of " + blocks
                        + " blocks, which leaves too few for a context of " + contextTokens + " tokens.");
    }

    /** The server as it was measured. */
    public static PhaseSettings of(Profile profile, Rates rates) {
        return switch (profile) {
            case STATIC, CONTINUOUS -> new PhaseSettings(profile, rates, 8, 2048, BLOCK, 4096, 512, 0);
            case PAGED, CHUNKED, PREFIX, GRAPH ->
                new PhaseSettings(profile, rates, rates.running(), rates.blocks(), BLOCK, 4096, 512, 0);
            case RESTORE ->
                new PhaseSettings(profile, rates, rates.running(), rates.blocks(), BLOCK, 32_768, 256, 2048);
        };
    }

    public PhaseSettings withRunning(int value) {
        return new PhaseSettings(profile, rates, value, blocks, blockTokens, contextTokens, chunkTokens, chunkAbove);
    }

    public PhaseSettings withBlocks(int value) {
        return new PhaseSettings(profile, rates, running, value, blockTokens, contextTokens, chunkTokens, chunkAbove);
    }

    public PhaseSettings withContextTokens(int value) {
        return new PhaseSettings(profile, rates, running, blocks, blockTokens, value, chunkTokens, chunkAbove);
    }

    int blocksFor(int tokens) {
        return (tokens + blockTokens - 1) / blockTokens;
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
