package io.holdfast.core;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.plan.Plan;
import io.holdfast.core.prefix.PrefixEviction;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An immutable picture of one engine: what we believe, what is held, what was decided and why.
 *
 * @param incarnation which life of the engine's cache this is, counted from 1 since we follow it
 * @param caches how many caches are followed, one for each data-parallel rank; the first is the one decided about
 * @param certain whether {@code blocks} is exactly what the engine holds
 * @param certainty one sentence: why it is, or what is missing and how it heals
 * @param blocks blocks resident on the GPU as far as the events told
 * @param ghosts removed blocks that are still remembered
 * @param memory what is remembered beside the caches, in bytes, and how much it may be
 * @param paused why nothing new is held, until holding is resumed; absent while it is not paused
 * @param keepsHeld whether what is held stays during the pause
 * @param dryRun whether everything is decided and nothing asked of the engine
 * @param invisibleShare the part of the engine's requests that stored nothing, so that its events do not show them
 * @param sharing what became of requests that went over a shared prefix
 * @param evictions the last shared prefixes that the engine evicted, the oldest first
 * @param automatic whether anything is held without a request
 * @param byRank whether anything is held by its rank
 * @param hints how often each was given; one that never was is not in it
 * @param released what was given back, and what others found because of it
 * @param own what became of our own requests to the engine
 * @param touches what routers told of uses of prefixes
 * @param stalls how often requests waited while nothing ran
 * @param alarms what an operator has to know about room and stalls, one sentence each
 */
public record EngineView(
        String engineId,
        long incarnation,
        int caches,
        boolean certain,
        String certainty,
        int blocks,
        int ghosts,
        MemoryBudget.Used memory,
        Counters counters,
        Reading invisibleShare,
        Capabilities capabilities,
        PinsView pins,
        Optional<String> paused,
        boolean keepsHeld,
        boolean dryRun,
        EngineReadings readings,
        Budget budget,
        List<HoldView> holds,
        Plan lastPlan,
        TtftEffect ttft,
        Sharing sharing,
        List<PrefixEviction> evictions,
        Automatic automatic,
        ByRank byRank,
        Map<Hint, Long> hints,
        GivenBack released,
        OwnRequests own,
        Touches touches,
        long stalls,
        List<Budget.Alarm> alarms) {
    public EngineView {
        alarms = List.copyOf(alarms);
        evictions = List.copyOf(evictions);
        holds = List.copyOf(holds);
    }

    /**
     * Automatic holds.
     *
     * @param on whether they are on with the backend that is chosen now
     * @param why one clause: which of the two it is, by which key, and what switches them on where they are off
     */
    public record Automatic(boolean on, String why) {}

    /**
     * Holds by rank.
     *
     * @param whyNone why there are none whatever the shadows say
     * @param shadows what models of the cache find with such holds and without
     */
    public record ByRank(Optional<String> whyNone, Evidence shadows) {
        static final ByRank OFF = new ByRank(Optional.of("automatic holds are switched off"), Evidence.NONE);

        /** Returns true if there may be any now. */
        public boolean licensed() {
            return whyNone.isEmpty() && shadows.open();
        }

        /** One sentence: what licenses them, or what they lack. */
        public String why() {
            return whyNone.orElseGet(shadows::said);
        }
    }

    /**
     * Memory that was given back since we follow the engine, on behalf of those who are finished.
     *
     * @param holds holds that were released so
     * @param tokens tokens of theirs that nothing else keeps
     * @param foundTokens tokens that requests found in the cache and would not have found with all of that held until its
     *     leases would have ended; unknown with the reason where that cannot be measured
     * @param lostTokens tokens of what was given back that requests computed again until then; unknown likewise
     * @param unmeasured holds of which these two do not speak
     * @param why why not; empty where they speak of all
     */
    public record GivenBack(
            long holds, long tokens, Reading foundTokens, Reading lostTokens, long unmeasured, String why) {}

    /**
     * Requests that the sidecar sent itself.
     *
     * @param answered of those, the ones that were answered and, as far as is known, did what they were for
     * @param failed of those, the ones that did not; the rest is under way
     * @param lateTouches touches that found their prefix gone, and stored it anew
     * @param withinAnHour how long all of them took that were answered within the last hour
     */
    public record OwnRequests(long sent, long answered, long failed, long lateTouches, Duration withinAnHour) {}

    /**
     * Uses of prefixes that routers told of.
     *
     * @param shown of those, the ones whose requests events show as well
     * @param taught of those, the ones that no event shows, from which was learned what a visible request would have
     *     taught
     * @param notTaken those that were refused, since too many were waiting
     */
    public record Touches(long told, long shown, long taught, long notTaken) {}

    /**
     * Counts since we follow the engine.
     *
     * @param removedUnknown removals of blocks that were not known to be there while the view was certain: signs of a
     *     misunderstanding
     * @param visibleRequests requests that stored something
     */
    public record Counters(
            long batches,
            long storedBlocks,
            long removedBlocks,
            long removedUnknown,
            long clears,
            long gaps,
            long lostBatches,
            long restarts,
            long visibleRequests) {

        /** Adds the counters of another cache. */
        Counters plus(Counters other) {
            return new Counters(
                    batches + other.batches,
                    storedBlocks + other.storedBlocks,
                    removedBlocks + other.removedBlocks,
                    removedUnknown + other.removedUnknown,
                    clears + other.clears,
                    gaps + other.gaps,
                    lostBatches + other.lostBatches,
                    restarts + other.restarts,
                    visibleRequests + other.visibleRequests);
        }
    }
}
