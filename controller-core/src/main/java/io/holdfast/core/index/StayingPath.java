package io.holdfast.core.index;

/** The part of one path that has stayed in an engine's cache since a moment of the engine's clock. */
public interface StayingPath {
    /** Returns true if all of the path is known, or it is known that nothing of it is left. */
    boolean known();

    /** Returns the number of its blocks that have stayed, from the root on; 0 while it is not known. */
    int blocks();

    /** One of those, the first one being 0. */
    long block(int index);

    /** It is followed no more. */
    void forget();
}
