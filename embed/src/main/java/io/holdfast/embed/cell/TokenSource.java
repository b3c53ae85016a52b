package io.holdfast.embed.cell;

import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Way to the tokens of a fleet's holds that another process took; they never pass a store. */
public interface TokenSource {
    /** No process may be asked. */
    TokenSource NONE = new TokenSource() {
        @Override
        public Optional<String> whyNot(FleetHold hold) {
            return Optional.of("nobody may be asked for its tokens");
        }

        @Override
        public CompletionStage<int[]> tokens(FleetHold hold) {
            throw new IllegalStateException("Nobody may be asked.");
        }
    };

    /** Returns the reason why nobody may be asked for those of this hold, in a clause that names the mend. */
    Optional<String> whyNot(FleetHold hold);

    /** Asks for them; fails with one sentence that has none of them. They may be anybody's word. */
    CompletionStage<int[]> tokens(FleetHold hold);
}
