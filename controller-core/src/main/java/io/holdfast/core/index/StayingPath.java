package io.holdfast.core.index;

/** How much of one path has stayed in an engine's cache since a moment of the engine's clock. */
public interface StayingPath {
    /** Whether all of the path is known, or that nothing of it is left. */
    boolean known();

    /** How many of its blocks have stayed, from the root on; 0 while it is not known. */
    int blocks();

    /** One of those, the first one being 0. */
    long block(int index);

    /** It is followed no more. */
    void forget();
}
