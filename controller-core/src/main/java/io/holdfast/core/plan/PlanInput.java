package io.holdfast.core.plan;

import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.hold.Hold;
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
 * @param cache what the engine has, as far as it is known
 * @param means how the engine can be made to keep a prefix, and what is in the way
 * @param limits how much may be pinned, and what is on its way out
 * @param wishes what is held and wanted
 * @param automatic what may be held without a request
 */
public record PlanInput(Moment moment, Cache cache, Means means, Limits limits, Wishes wishes, Automatic automatic) {
    /**
     * The tick that plans.
     *
     * @param nowNanos on the controller's own clock, as holds and touches are
     * @param nextHoldId the id of the first automatic hold that the plan may make
     */
    public record Moment(long tick, long nowNanos, long nextHoldId) {}

    /**
     * The engine's cache.
     *
     * @param tree its blocks; of an engine with several caches, what they are together
     * @param ranks each cache of an engine that has several
     * @param prefixes the shared prefixes that are followed
     * @param blockTokens tokens in a block, 0 while unknown
     * @param largestToken the largest token id that the engine is known to have; -1 while it is unknown
     */
    public record Cache(
            TreeView tree, Ranks ranks, PrefixView prefixes, long capacityTokens, long blockTokens, long largestToken) {
        /** Creates the cache of an engine that has one. */
        public Cache(TreeView tree, PrefixView prefixes, long capacityTokens, long blockTokens, long largestToken) {
            this(tree, Ranks.ONE, prefixes, capacityTokens, blockTokens, largestToken);
        }
    }

    /**
     * Ways to have a prefix kept.
     *
     * @param traits what the backend needs of a prefix and what its pins are
     * @param capabilities what the backend can do; absent before it was probed
     * @param hindrance why nothing new may be pinned, whatever it is: suspended, a gap, leftovers, no probe yet
     * @param notPrimed why no prefix is stored by a request of our own now; empty when one may be
     */
    public record Means(
            BackendTraits traits,
            Optional<Capabilities> capabilities,
            Optional<String> hindrance,
            Optional<String> notPrimed) {}

    /**
     * Room for pins.
     *
     * @param stalled requests wait while nothing runs
     * @param leaving blocks that are not pinned any more as far as we are asked, whatever became of the unpin; not to
     *     be pinned
     * @param freeing of those, the ones that can be expected to go: the unpin is under way or repeated, and the tree
     *     counts the path
     */
    public record Limits(Budget budget, boolean stalled, Set<Long> leaving, Set<Long> freeing) {}

    /**
     * Holds that are wanted.
     *
     * @param holds every hold that is not over, oldest first
     * @param letGo why automatic holds, and those that may be released as they are, are off now; absent when they are
     *     on
     * @param window how long they are off at a time to be measured; zero where they are not
     */
    public record Wishes(List<Hold> holds, Optional<Why> letGo, Duration window) {}

    /**
     * Prefixes that the planner may hold without a request.
     *
     * @param on whether it may hold any
     * @param candidates the shared prefixes that are worth a hold, and those that are held automatically
     * @param longestLease how long an automatic hold waits for a use at most
     * @param ranking what is to be held by its rank
     * @param saving what holds save, and what is worth one
     * @param copies what other engines have of them
     */
    public record Automatic(
            boolean on,
            List<SharedPrefix> candidates,
            Duration longestLease,
            Ranking ranking,
            Saving saving,
            Copies copies) {
        /** Creates the prefixes of an engine that knows of no other. */
        public Automatic(
                boolean on, List<SharedPrefix> candidates, Duration longestLease, Ranking ranking, Saving saving) {
            this(on, candidates, longestLease, ranking, saving, Copies.NONE);
        }
    }
}
