package io.holdfast.core.index;

/**
 * Differences between engines' events that their form does not tell.
 *
 * @param clearEmptiesGpuOnly whether blocks in other tiers survive a clear
 * @param countsCopies whether a block that is announced again is one more copy of it; where hits are announced like
 *     stores, it is not
 */
public record CacheTraits(boolean clearEmptiesGpuOnly, boolean countsCopies) {
    /** An SGLang server: a clear empties every tier. */
    public static CacheTraits sglang() {
        return new CacheTraits(false, true);
    }

    /** A vLLM server that reports stores only: a clear is about the GPU. */
    public static CacheTraits vllm() {
        return new CacheTraits(true, true);
    }
}
