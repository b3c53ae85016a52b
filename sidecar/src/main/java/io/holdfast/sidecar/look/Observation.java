package io.holdfast.sidecar.look;

import io.holdfast.core.head.UnstableHead;
import io.holdfast.sidecar.view.Conditions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Figures of one engine so far.
 *
 * @param engine the engine in a few words
 * @param elapsed since it is watched
 * @param span how much time its events cover; more where it was asked for past ones
 * @param events whether they come, one clause
 * @param certain whether what is cached is known exactly
 * @param certainty why, or why not
 * @param readings the engine's numbers; what is not known is empty
 * @param requests how many were seen
 * @param residence how long blocks stay that nobody touches; empty until the engine removed some
 * @param removals how many removals that was measured by
 * @param reuse the median time between two uses of a prefix; empty until one was used twice
 * @param longReuse nine in ten of these times were at most that; empty until one was used twice
 * @param rho residence by reuse: below about 1.5 holding can help, above 5 it cannot
 * @param prefill what computing tokens costs
 * @param sharing what became of requests that went over a shared prefix
 * @param prefixes that requests share, those first that cost the most prefill
 * @param demand what the prompts ask of the cache that were under way at once in the last minute
 * @param lengths of the last prompts
 * @param conditions whether holds or moves of memory between engines can pay
 * @param heads requests that share most of their tokens but differ early, those first that cost the most prefill
 * @param holding what could hold them, and what that would have saved
 */
public record Observation(
        String engine,
        Duration elapsed,
        Duration span,
        String events,
        boolean certain,
        String certainty,
        Readings readings,
        Requests requests,
        Optional<Duration> residence,
        long removals,
        Optional<Duration> reuse,
        Optional<Duration> longReuse,
        OptionalDouble rho,
        Prefill prefill,
        Sharing sharing,
        List<SharedPrefix> prefixes,
        AtOnce demand,
        Lengths lengths,
        Conditions conditions,
        List<UnstableHead> heads,
        Holding holding) {
    public Observation {
        prefixes = List.copyOf(prefixes);
        heads = List.copyOf(heads);
    }

    /**
     * The engine's own numbers.
     *
     * @param cachedShare of the prompt tokens since it is watched, those that were found in the cache
     */
    public record Readings(
            OptionalDouble running,
            OptionalDouble waiting,
            OptionalDouble usedTokens,
            OptionalDouble capacityTokens,
            OptionalDouble cachedShare) {}

    /**
     * Requests.
     *
     * @param batches of events that came, past ones included
     * @param visible requests that stored something, so that the events show them
     * @param counted requests that the engine counted since these are compared with the events
     * @param invisibleShare of those, the ones that the events do not show; empty while that is unknown
     */
    public record Requests(long batches, long visible, long counted, OptionalDouble invisibleShare) {}

    /**
     * Prompts that were under way at once.
     *
     * @param tokens that they ask of the cache, what they share counted once
     * @param eachInFullTokens the same with each counted in full
     */
    public record AtOnce(int prompts, long tokens, long eachInFullTokens) {}

    /** Lengths of prompts. */
    public record Lengths(int prompts, long medianTokens, long ninetiethTokens) {}

    /**
     * A line through times to first token.
     *
     * @param fixedSeconds what a request takes anyhow; empty while it is unknown
     * @param secondsPerToken what each uncached token adds; empty while it is unknown
     * @param samples how many measurements it goes through
     * @param why it is unknown; empty where it is known
     */
    public record Prefill(
            OptionalDouble fixedSeconds, OptionalDouble secondsPerToken, int samples, Optional<String> why) {}

    /**
     * Requests that went over a shared prefix, each counted for its longest.
     *
     * @param storedAgainTokens of shared prefixes, that had been lost
     * @param seconds of prefill for that; empty while what prefill costs is unknown
     */
    public record Sharing(long found, long lost, long storedAgainTokens, OptionalDouble seconds) {}

    /**
     * A prefix that requests share.
     *
     * @param id the hash of its last block, in hexadecimal
     * @param continuations different blocks that followed it
     * @param cached whether all of it is in the cache now
     * @param losses how often a request found it lost, wholly or in part
     * @param seconds of prefill for what was stored again; empty while what prefill costs is unknown
     * @param why it would be held or not
     */
    public record SharedPrefix(
            String id,
            long tokens,
            int continuations,
            boolean cached,
            long requests,
            long hits,
            long losses,
            long storedAgainTokens,
            OptionalDouble seconds,
            boolean worthHolding,
            String why) {}

    /**
     * Advice on the cache.
     *
     * @param backend what the sidecar would hold with
     * @param why it would
     * @param prefixes how many are worth a hold
     * @param savedSeconds of prefill that holding them would have saved, what holding takes not counted; empty while unknown
     * @param spentSeconds what keeping them warm by requests would have taken; empty where that is not how, or unknown
     * @param noRoom the arithmetic by which automatic holds would leave all of them alone; empty where there is room for one
     */
    public record Holding(
            String backend,
            String why,
            int prefixes,
            OptionalDouble savedSeconds,
            OptionalDouble spentSeconds,
            Optional<String> noRoom) {}

    /** Returns true if no event arrived, so that nothing can be judged. */
    public boolean silent() {
        return requests.batches() == 0;
    }
}
