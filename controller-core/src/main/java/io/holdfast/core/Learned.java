package io.holdfast.core;

import io.holdfast.core.budget.LearnedSizes;
import io.holdfast.core.cost.LearnedCost;
import io.holdfast.core.prefix.LearnedPrefix;
import io.holdfast.core.rank.LearnedRank;
import io.holdfast.core.reuse.LearnedTimes;
import java.util.List;

/**
 * Knowledge of an engine and its traffic that outlives a process and an engine's cache, as plain numbers that can be
 * written anywhere. It has no token, no lease and nothing that is pinned.
 *
 * <p>Whoever changes what any of its parts means raises {@link #VERSION}.
 *
 * @param blockTokens of what size the engine's blocks were
 * @param untilMicros the stamp of the last batch that it was learned from, in microseconds of the engine's clock; 0
 *     where none came or the engine stamps none
 * @param capacityTokens how much its cache had room for; 0 where that was not known
 * @param prefixes what requests share
 * @param times how long blocks stay and how soon prefixes are used again
 * @param prefill what computing prompts took
 * @param prompts the largest requests
 * @param ranks what ranks rest on; none where nothing is held by its rank
 */
public record Learned(
        int blockTokens,
        long untilMicros,
        long capacityTokens,
        List<LearnedPrefix> prefixes,
        LearnedTimes times,
        LearnedCost prefill,
        LearnedSizes prompts,
        List<LearnedRank> ranks) {
    /** Version of the form and of the meaning of its numbers. */
    public static final int VERSION = 2;

    public Learned {
        prefixes = List.copyOf(prefixes);
        ranks = List.copyOf(ranks);
        if (blockTokens < 1 || untilMicros < 0 || capacityTokens < 0 || ranks.size() > 1) {
            throw new IllegalArgumentException("What was learned is of an engine whose blocks have 1 token or more.");
        }
    }
}
