package io.holdfast.sidecar.ledger;

import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine.Step;
import java.net.URI;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * One ledger of a state directory as it is now.
 *
 * @param id of its engine
 * @param engine whose pins it lists; absent where nothing was pinned yet
 * @param paused why nothing is to be held before somebody resumes
 * @param pins what may be pinned, oldest first
 * @param use who has it in use
 * @param configured the way to hold that the configuration names for this engine; absent where none was read, or where
 *     none of that id is in it
 * @param keptHolds how many requested holds the next start asks for again; 0 where that cannot be read
 */
public record LedgerState(
        String id,
        Path file,
        Optional<Engine> engine,
        Optional<String> paused,
        List<Pin> pins,
        Use use,
        Optional<String> configured,
        int keptHolds) {
    public LedgerState {
        pins = List.copyOf(pins);
    }

    /**
     * Whose pins they are.
     *
     * @param address as it was configured
     * @param resolved what that led to
     * @param shown the same in a sentence
     */
    public record Engine(String address, String resolved, Optional<String> model, String shown) {
        static Engine of(EngineIdentity identity) {
            return new Engine(identity.address(), identity.resolved(), identity.model(), identity.shown());
        }
    }

    /**
     * One entry that is not released.
     *
     * @param backend the only one that can release it
     * @param handle what that one calls it
     * @param blocks on its path; those that pins share are counted in each
     * @param since when it came into this step; absent where an older version wrote it
     * @param note why, where that is not plain; else empty
     * @param releasable whether any call takes it back
     */
    public record Pin(
            String backend,
            String handle,
            long hold,
            String origin,
            Step step,
            int blocks,
            Optional<Instant> since,
            String note,
            boolean releasable) {
        /** Its step in one word. */
        public String state() {
            return step.name().toLowerCase(Locale.ROOT);
        }
    }

    /** Whether a process writes it. */
    public sealed interface Use {
        record Nobody() implements Use {}

        /**
         * A sidecar that runs.
         *
         * @param api where it serves, as far as it said so
         */
        record Sidecar(Optional<URI> api) implements Use {}
    }
}
