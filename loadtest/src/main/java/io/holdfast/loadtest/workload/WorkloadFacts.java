package io.holdfast.loadtest.workload;

/**
 * Facts about a workload that the analysis needs, whichever workload it is.
 *
 * @param id a hash over all its requests
 * @param name what kind of workload, with its sizes, for people
 * @param seed that its prompts were drawn with
 * @param prefixTokens tokens of the prefix that is held and that the probes ask for
 * @param pressureTokens tokens that come into the cache before a probe asks for the prefix again
 * @param arrivals when the requests of a flood come, by {@link Arrivals#text}
 */
public record WorkloadFacts(String id, String name, long seed, int prefixTokens, long pressureTokens, String arrivals) {
    /** Returns true if requests of a flood come when others are over. */
    public boolean isClosed() {
        return arrivals.equals(Arrivals.CLOSED);
    }
}
