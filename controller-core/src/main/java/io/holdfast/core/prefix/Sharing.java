package io.holdfast.core.prefix;

/**
 * What became of all requests that went over a shared prefix.
 *
 * @param found requests that found it in the cache
 * @param lost requests that did not, wholly or in part
 * @param recomputedBlocks blocks of it that those computed again
 */
public record Sharing(long found, long lost, long recomputedBlocks) {
    public static final Sharing NONE = new Sharing(0, 0, 0);
}
