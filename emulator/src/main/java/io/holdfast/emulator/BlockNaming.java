package io.holdfast.emulator;

/** How the engine names blocks: one name for each full page, each standing for everything up to its end. */
@FunctionalInterface
interface BlockNaming {
    long[] names(int[] tokens, String namespace);
}
