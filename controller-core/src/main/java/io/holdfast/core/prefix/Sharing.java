package io.holdfast.core.prefix;

/**
 * Outcomes of all requests that went over a shared prefix.
 *
 * @param found requests that found it in the cache as a whole
 * @param told of those, requests that stored nothing and are known only because somebody told of them
 * @param foundInPart requests that found its beginning and computed the rest again
 * @param foundNothing requests that computed all of it again
 * @param recomputedBlocks blocks of it that the last two kinds computed again
 */
public record Sharing(long found, long told, long foundInPart, long foundNothing, long recomputedBlocks) {
    public static final Sharing NONE = new Sharing(0, 0, 0, 0, 0);

    /** Requests that found it lost, wholly or in part. */
    public long lost() {
        return foundInPart + foundNothing;
    }
}
