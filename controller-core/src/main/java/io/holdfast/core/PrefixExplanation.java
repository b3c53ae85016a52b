package io.holdfast.core;

import io.holdfast.core.plan.Plan;
import io.holdfast.core.rank.PrefixRank;
import java.util.Optional;

/**
 * Explanation of one prefix: what is known of it, what was decided about it, and why.
 *
 * @param blocks of it
 * @param tokens of it; 0 while the size of a block is unknown
 * @param cachedBlocks of them that the cache has, from the first on
 * @param heldBlocks of them that are pinned, from the first on, for any requester
 * @param line of the last plan: the one about it, else the one about the longest prefix of it; absent where there is
 *     none
 * @param why it is held, or why not
 * @param rank what was learned of the longest prefix of it that a request went over; absent where nothing was
 * @param byRank whether anything is held by its rank
 */
public record PrefixExplanation(
        int blocks,
        long tokens,
        int cachedBlocks,
        int heldBlocks,
        Optional<Plan.Line> line,
        String why,
        Optional<PrefixRank> rank,
        EngineView.ByRank byRank) {}
