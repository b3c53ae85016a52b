package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Place where the engines of a fleet leave what the others should know.
 *
 * <p>Everything in it has an end, and nothing in it is needed: a store may lose, repeat or invent values, and answer late
 * or never. Any thread may call it; no call waits. What cannot be done is answered with a {@link FleetStoreException} that
 * has one sentence; a call that was not answered in time may have been done all the same.
 */
public interface FleetStore extends AutoCloseable {
    /** Longest value, in bytes. */
    int MOST_BYTES = 8 << 10;
    /** Longest part of a key and longest owner, in characters. */
    int LONGEST_NAME = 200;
    /** Most values in one answer, which bounds its bytes as well. */
    int MOST_LISTED = 1_024;
    /** Most sums in one answer, and most amounts in one call. */
    int MOST_SUMS = 4_096;
    /** Longest time for which anything stays. */
    Duration LONGEST_TTL = Duration.ofDays(31);

    /**
     * Name of one value.
     *
     * @param cell {@link Cell#id} of the engines that it concerns; a store of several servers keeps a cell together
     * @param kind what it is, as {@code digest}
     * @param name which one, as an engine's
     */
    record Key(String cell, String kind, String name) {
        /** @throws IllegalArgumentException with one sentence, where a part is no name */
        public Key {
            // A colon parts the kind from the name in a store, so that only the last part may have some.
            if (!isName(cell) || !isName(kind) || !isName(name) || cell.contains(":") || kind.contains(":")) {
                throw new IllegalArgumentException("Each part of a key has 1 to " + LONGEST_NAME
                        + " letters, digits, dots and dashes, and a name may have colons.");
            }
        }

        /** Says whether a text can be a key's name; what a store has listed may be anything. */
        public static boolean isName(String text) {
            return text.matches("[A-Za-z0-9._:-]{1," + LONGEST_NAME + "}");
        }
    }

    /** Puts a value of 1 to {@link #MOST_BYTES} bytes in the place of whatever the key has, to be there for so long. */
    CompletionStage<Void> put(Key key, byte[] value, Duration ttl);

    /** Returns a value; empty where there is none, or where it has more than {@link #MOST_BYTES} bytes or none. */
    CompletionStage<Optional<byte[]>> get(Key key);

    /**
     * Returns values of one kind by their names, at most {@link #MOST_LISTED}; which of them, where there are more than
     * so many, is the store's choice. What {@link #get} would not return is left out, and windows are no values.
     */
    CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most);

    /**
     * Returns values of several kinds, each as {@link #list(String, String, int)} does. A store that has to look for the
     * names does so once.
     *
     * @param most how many of each kind
     */
    default CompletionStage<Map<String, Map<String, byte[]>>> list(String cell, Map<String, Integer> most) {
        CompletionStage<Map<String, Map<String, byte[]>>> all = CompletableFuture.completedStage(Map.of());
        for (Map.Entry<String, Integer> kind : most.entrySet()) {
            all = all.thenCombine(list(cell, kind.getKey(), kind.getValue()), (before, listed) -> {
                Map<String, Map<String, byte[]>> both = new HashMap<>(before);
                both.put(kind.getKey(), listed);
                return both;
            });
        }
        return all;
    }

    /** Adds to sums of a window, which is there for so long after it was added to last; some of it may be added alone. */
    CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl);

    /**
     * Returns the largest sums of a window, at most {@link #MOST_SUMS}: the largest first, and of equal ones the smaller
     * name first.
     */
    CompletionStage<SequencedMap<Long, Double>> top(Key window, int most);

    /** Takes a key that nobody has, for so long; false where somebody has it, and be it this owner. */
    CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl);

    /** Prolongs what this owner has, so that it lasts so long from now on; false where the owner does not have it. */
    CompletionStage<Boolean> renew(Key key, String owner, Duration ttl);

    /** What it is and whether it answers, in a sentence without its full stop, without user and password. */
    String said();

    /** Ends all calls; those under way fail. */
    @Override
    void close();
}
