package io.holdfast.core;

import java.util.Optional;

/**
 * Orders about holding as a whole.
 *
 * @param paused why nothing new is held; absent while holding goes on
 * @param keepsHeld whether what is held stays during the pause
 * @param dryRun whether everything is decided and nothing asked of the engine
 */
record Steering(Optional<String> paused, boolean keepsHeld, boolean dryRun) {
    /** Sentence of a hold that would be pinned, were this no dry run. */
    static final String DRY = "decided, and not asked of the engine: dry run";

    /** Returns the steering that pauses, or no longer does, and whatever was kept during a pause is not any more. */
    Steering pausing(Optional<String> why) {
        return new Steering(why, false, dryRun);
    }

    /** Returns the steering that pauses and keeps what is held. */
    Steering keeping(String why) {
        return new Steering(Optional.of(why), true, dryRun);
    }

    /** Returns the steering that holds nothing new from now on, whatever was kept so far. */
    Steering suspending(String why) {
        return new Steering(Optional.of(why), keepsHeld, dryRun);
    }

    /** Returns the steering that acts, or only decides. */
    Steering dry(boolean on) {
        return new Steering(paused, keepsHeld, on);
    }
}
