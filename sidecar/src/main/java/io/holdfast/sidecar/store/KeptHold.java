package io.holdfast.sidecar.store;

import io.holdfast.sidecar.config.PrefixSource;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * A requested hold as it outlives this process.
 *
 * @param id its number, in this process and the next
 * @param name of a declared hold; empty for one that was asked for through the API
 * @param declaration what the configuration said then, as a digest; empty where there is no name
 * @param claims who wants it, and until when; at least one
 * @param model the model whose tokens and blocks these are, where the engine told
 * @param blocks the engine's hashes, root first; none while they are not known yet
 * @param tokens what fills the blocks, where that is known
 * @param asked by what it was asked for, for whoever may see that
 */
@SuppressWarnings("ArrayRecordComponent") // two are never compared
public record KeptHold(
        long id,
        String name,
        String declaration,
        List<KeptClaim> claims,
        Optional<String> model,
        long[] blocks,
        Optional<int[]> tokens,
        PrefixSource asked) {

    /** When the last of its leases ends. */
    public Instant until() {
        return claims.stream()
                .map(KeptClaim::until)
                .max(Comparator.naturalOrder())
                .orElseThrow();
    }

    public KeptHold claimedBy(List<KeptClaim> others) {
        return new KeptHold(id, name, declaration, others, model, blocks, tokens, asked);
    }

    /** True while the hold waits for the engine to show how it names the blocks. */
    public boolean unnamed() {
        return blocks.length == 0;
    }

    public boolean declared() {
        return !name.isEmpty();
    }
}
