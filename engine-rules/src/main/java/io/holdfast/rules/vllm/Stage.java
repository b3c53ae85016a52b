package io.holdfast.rules.vllm;

/** One of the servers of a published optimisation log, in place of vLLM: how it schedules, and its model's speed. */
public record Stage(Profile profile, Rates rates) {
    private static final int BLOCK = 16;
    private static final int SLOTS = 8;
    private static final int CONTEXT = 4096;
    private static final int RESTORING_CONTEXT = 32_768;
    private static final int CHUNK = 512;

    /** Returns the settings of the server as it was measured. */
    public static VllmSettings settings(Profile profile, Rates rates) {
        int blocks = profile.inSlots() ? SLOTS * CONTEXT / BLOCK : rates.size().blocks();
        boolean wholePrompts = profile.pads() || profile == Profile.RESTORE;
        return VllmSettings.defaults()
                .withSizes(blocks + 1, BLOCK, profile == Profile.RESTORE ? RESTORING_CONTEXT : CONTEXT)
                .withBatch(profile.inSlots() ? SLOTS : rates.size().running(), wholePrompts ? blocks * BLOCK : CHUNK)
                .withStage(new Stage(profile, rates));
    }
}
