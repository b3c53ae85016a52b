package io.holdfast.embed.cell;

/** Why a value of a store is not used. */
public enum Refusal {
    /** Of a version that we do not know; a newer member may have written it. */
    UNKNOWN_VERSION,
    /** Longer than any that we write. */
    TOO_LONG,
    /** Not what it should be, or beyond its bounds. */
    MALFORMED,
    /** Written for another cell. */
    OTHER_CELL,
    /** Not the value of the key at which it was. */
    OTHER_KEY,
    /** From before what the same engine put since. */
    STALE,
    /** More than a cell has. */
    TOO_MANY,
    /** In the place of our sign that of another process, which takes part by our engine's name while we do. */
    SAME_NAME
}
