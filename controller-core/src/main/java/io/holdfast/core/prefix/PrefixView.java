package io.holdfast.core.prefix;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;

/** View of {@link SharedPrefixes} for decisions; reading changes nothing. A prefix is named by its last block. */
public interface PrefixView {
    /** The prefix, where it is followed. */
    Optional<SharedPrefix> find(long lastBlock);

    /**
     * Returns the last block of the shortest living path over a prefix that is followed, which may be the prefix
     * itself; only paths where an insertion ended for sure count.
     */
    OptionalLong shortestPathOver(long lastBlock);

    /** Returns the last block of the shortest of these paths whose last block passes. */
    default OptionalLong shortestPathOver(long lastBlock, LongPredicate which) {
        OptionalLong shortest = shortestPathOver(lastBlock);
        return shortest.isPresent() && which.test(shortest.getAsLong()) ? shortest : OptionalLong.empty();
    }
    /** Returns true if the engine has told the tokens of a prefix that is followed, and they are kept. */
    boolean tokensKnown(long lastBlock);

    /**
     * Returns what nine of ten of the last prompts need beside these prefixes, in blocks; empty before there was a
     * prompt.
     */
    OptionalLong needBeside(Set<Long> held);
}
