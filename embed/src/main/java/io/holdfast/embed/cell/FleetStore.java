package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
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
    /** Longest name of a key or an owner, in characters. */
    int LONGEST_NAME = 200;

    /**
     * Name of one value.
     *
     * @param cell {@link Cell#id} of the engines that it concerns; a store of several servers keeps a cell together
     * @param kind what it is, as {@code digest}
     * @param name which one, as an engine's
     */
    record Key(String cell, String kind, String name) {
        private static final String SAFE = "[A-Za-z0-9._:-]+";

        /** @throws IllegalArgumentException with one sentence, where a part is no name */
        public Key {
            if (!cell.matches(SAFE) || !kind.matches(SAFE) || !name.matches(SAFE) || name.length() > LONGEST_NAME) {
                throw new IllegalArgumentException(
                        "A key has letters, digits, dots, colons and dashes, and a name of at" + " most " + LONGEST_NAME
                                + " of them.");
            }
        }
    }

    /** Puts a value in the place of the last one, to be there for so long. */
    CompletionStage<Void> put(Key key, byte[] value, Duration ttl);

    /** Returns a value; empty where there is none, or where it is longer than {@link #MOST_BYTES}. */
    CompletionStage<Optional<byte[]>> get(Key key);

    /**
     * Returns values of one kind by their names, those of at most {@link #MOST_BYTES}; which of them, where there are
     * more than so many, is the store's choice.
     */
    CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most);

    /** Adds to sums of a window, which is there for so long after it was added to last. */
    CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl);

    /** Returns the largest sums of a window, the largest first, and of equal ones the smaller name first. */
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
