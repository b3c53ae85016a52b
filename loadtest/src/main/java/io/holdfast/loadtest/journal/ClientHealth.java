package io.holdfast.loadtest.journal;

/**
 * How the client itself fared while the requests of a leg were under way: what it did to its own stamps.
 *
 * @param loadNanos how long requests were under way
 * @param loopCpuNanos CPU time that the busiest event loop took meanwhile
 * @param processCpuNanos CPU time that the whole process took meanwhile, its compilers and collectors included
 * @param stillNanos the longest that an event loop came late to something that was due
 * @param collections pauses for garbage
 * @param collectionNanos what they took together, as far as the machine tells
 * @param clockNanos by how much the date moved away from the monotonic clock; a machine that slept, or a date that was set
 */
public record ClientHealth(
        long loadNanos,
        long loopCpuNanos,
        long processCpuNanos,
        long stillNanos,
        long collections,
        long collectionNanos,
        long clockNanos) {

    /** The share of one core that the event loop took. */
    public double loopShare() {
        return loadNanos > 0 ? (double) loopCpuNanos / loadNanos : 0;
    }
}
