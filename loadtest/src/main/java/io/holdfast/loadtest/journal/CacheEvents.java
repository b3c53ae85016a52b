package io.holdfast.loadtest.journal;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Number of blocks of the GPU's cache that an engine said it stored and removed, and how often it said that it emptied
 * it.
 *
 * @param stored a block that was removed and stored again counts twice
 */
public record CacheEvents(long stored, long removed, long clears) {
    public static final CacheEvents NONE = new CacheEvents(0, 0, 0);

    /** The name of the note that says why a count may be too small. */
    public static final String DOUBT = "cache_events";

    private static final String STORED = "blocks_stored";
    private static final String REMOVED = "blocks_removed";
    private static final String CLEARS = "cache_clears";

    /** Returns notes of a leg, by names that end so; one of a part ends with a dot and the part's name. */
    public Map<String, String> notes(String ending) {
        Map<String, String> notes = new LinkedHashMap<>();
        notes.put(STORED + ending, Long.toString(stored));
        notes.put(REMOVED + ending, Long.toString(removed));
        notes.put(CLEARS + ending, Long.toString(clears));
        return notes;
    }

    /** Reads those of a leg's notes, by names that end so; absent where nobody listened. */
    public static Optional<CacheEvents> of(Map<String, String> notes, String ending) {
        return Optional.ofNullable(notes.get(STORED + ending))
                .map(stored -> new CacheEvents(
                        Long.parseLong(stored),
                        Long.parseLong(notes.getOrDefault(REMOVED + ending, "0")),
                        Long.parseLong(notes.getOrDefault(CLEARS + ending, "0"))));
    }

    public CacheEvents stored(long blocks) {
        return new CacheEvents(stored + blocks, removed, clears);
    }

    public CacheEvents removed(long blocks) {
        return new CacheEvents(stored, removed + blocks, clears);
    }

    /** Counts one more clear; what was stored before stays counted. */
    public CacheEvents cleared() {
        return new CacheEvents(stored, removed, clears + 1);
    }

    /** Returns what came since an earlier count. */
    public CacheEvents since(CacheEvents before) {
        return new CacheEvents(stored - before.stored, removed - before.removed, clears - before.clears);
    }
}
