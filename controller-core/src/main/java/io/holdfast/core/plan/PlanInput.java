package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.index.TreeView;
import io.holdfast.core.prefix.PrefixView;
import io.holdfast.core.prefix.SharedPrefix;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * All that one plan is made of.
 *
 * @param nowNanos on the controller's own clock, as holds and touches are
 * @param stalled requests wait while nothing runs
 * @param automaticHolds whether the planner may hold on its own
 * @param blockTokens tokens in a block, 0 while unknown
 * @param hindrance why nothing new may be pinned, whatever it is: suspended, a gap, leftovers, no probe yet
 * @param traits what the backend needs of a prefix and what its pins are
 * @param capabilities what the backend can do; absent before it was probed
 * @param letGo why automatic holds, and those that may be released as they are, are off now; absent when they are on
 * @param window how long they are off at a time to be measured; zero where they are not
 * @param notPrimed why no prefix is stored by a request of our own now; empty when one may be
 * @param largestToken the largest token id that the engine is known to have; -1 while it is unknown
 * @param leaving blocks that are not pinned any more as far as we are asked, whatever became of the unpin; not to be
 *     pinned
 * @param freeing of those, the ones that can be expected to go: the unpin is under way or repeated, and the tree counts
 *     the path
 * @param holds every hold that is not over, oldest first
 * @param prefixes the shared prefixes that are followed
 * @param candidates those of them that are worth a hold, and those that are held automatically
 * @param longestLease how long an automatic hold waits for a use at most
 * @param ranking what is to be held by its rank
 * @param saving what holds save, and what is worth one
 * @param nextHoldId the id of the first automatic hold that the plan may make
 * @param ranks each cache of an engine that has several; {@code tree} is what they are together
 */
public record PlanInput(
        long tick,
        long nowNanos,
        TreeView tree,
        Budget budget,
        boolean stalled,
        boolean automaticHolds,
        long capacityTokens,
        long blockTokens,
        Optional<String> hindrance,
        BackendTraits traits,
        Optional<Capabilities> capabilities,
        Optional<Why> letGo,
        Duration window,
        Optional<String> notPrimed,
        long largestToken,
        Set<Long> leaving,
        Set<Long> freeing,
        List<Hold> holds,
        PrefixView prefixes,
        List<SharedPrefix> candidates,
        Duration longestLease,
        Ranking ranking,
        Saving saving,
        long nextHoldId,
        Ranks ranks) {
    /** Creates the input of an engine with one cache, where nothing is held by its rank. */
    public PlanInput(
            long tick,
            long nowNanos,
            TreeView tree,
            Budget budget,
            boolean stalled,
            boolean automaticHolds,
            long capacityTokens,
            long blockTokens,
            Optional<String> hindrance,
            BackendTraits traits,
            Optional<Capabilities> capabilities,
            Optional<Why> letGo,
            Optional<String> notPrimed,
            long largestToken,
            Set<Long> leaving,
            Set<Long> freeing,
            List<Hold> holds,
            PrefixView prefixes,
            List<SharedPrefix> candidates,
            Saving saving,
            long nextHoldId) {
        this(
                tick,
                nowNanos,
                tree,
                budget,
                stalled,
                automaticHolds,
                capacityTokens,
                blockTokens,
                hindrance,
                traits,
                capabilities,
                letGo,
                Duration.ZERO,
                notPrimed,
                largestToken,
                leaving,
                freeing,
                holds,
                prefixes,
                candidates,
                Lease.LONGEST,
                Ranking.NONE,
                saving,
                nextHoldId,
                Ranks.ONE);
    }
}
