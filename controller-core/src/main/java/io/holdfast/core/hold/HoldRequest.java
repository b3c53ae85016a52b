package io.holdfast.core.hold;

import io.holdfast.core.index.Prefix;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/**
 * A wish to keep one prefix: the engine's hashes of its blocks, root first, its tokens if known, how long, and perhaps
 * for whom; every hold ages.
 */
public final class HoldRequest implements Prefix {
    public static final int MOST_WEIGHT = 100;
    private static final int LONGEST_REQUESTER = 64;

    private final long[] blocks;
    private final Optional<int[]> tokens;
    private final Lease lease;
    private final int weight;
    private final String requester;
    private final boolean measured;

    /** A prefix of which only the names of its blocks are known, for so long. */
    public HoldRequest(long[] blocks, Duration lease) {
        this(blocks, Lease.absolute(lease));
    }

    /** Requests a prefix with a lease of any kind. */
    public HoldRequest(long[] blocks, Lease lease) {
        this(blocks.clone(), Optional.empty(), lease, 1, "", false);
    }

    /**
     * Requests a prefix with its tokens, which some ways to hold it need.
     *
     * @throws IllegalArgumentException where they do not fill the blocks
     */
    public HoldRequest(long[] blocks, int[] tokens, Duration lease) {
        this(blocks, tokens, Lease.absolute(lease));
    }

    /** Requests a prefix with its tokens and a lease of any kind. */
    public HoldRequest(long[] blocks, int[] tokens, Lease lease) {
        this(blocks.clone(), Optional.of(tokens.clone()), lease, 1, "", false);
        if (tokens.length == 0 || tokens.length % blocks.length != 0) {
            throw new IllegalArgumentException(tokens.length + " tokens do not fill " + blocks.length
                    + " blocks: leave out those beyond the last whole block.");
        }
    }

    private HoldRequest(
            long[] blocks, Optional<int[]> tokens, Lease lease, int weight, String requester, boolean measured) {
        if (blocks.length == 0) {
            throw new IllegalArgumentException(
                    "A hold needs at least one full block: the prefix is shorter than the engine's block size.");
        }
        this.blocks = blocks;
        this.tokens = tokens;
        this.lease = lease;
        this.weight = weight;
        this.requester = requester;
        this.measured = measured;
    }

    /**
     * Returns this request with a weight: where room is short, the heavier hold is taken first.
     *
     * @throws IllegalArgumentException where it is not 1 to 100
     */
    public HoldRequest withWeight(int newWeight) {
        if (newWeight < 1 || newWeight > MOST_WEIGHT) {
            throw new IllegalArgumentException(
                    "The weight of a hold is 1 to " + MOST_WEIGHT + ", and " + newWeight + " was requested.");
        }
        return new HoldRequest(blocks, tokens, lease, newWeight, requester, measured);
    }

    /**
     * Returns this request under a requester's name: all who ask for the same prefix share one hold, and asking again
     * renews it.
     *
     * @throws IllegalArgumentException where that is no name
     */
    public HoldRequest by(String name) {
        if (!isName(name)) {
            throw new IllegalArgumentException(
                    "A requester's name is 1 to " + LONGEST_REQUESTER + " printable characters; give it another one.");
        }
        return new HoldRequest(blocks, tokens, lease, weight, name, measured);
    }

    /** Returns true if a requester may call itself that: 1 to 64 printable characters, not all of them blank. */
    public static boolean isName(String name) {
        return !name.isBlank()
                && name.codePointCount(0, name.length()) <= LONGEST_REQUESTER
                && name.codePoints().noneMatch(HoldRequest::unprintable);
    }

    private static boolean unprintable(int character) {
        return switch (Character.getType(character)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.PRIVATE_USE,
                    Character.UNASSIGNED,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> true;
            default -> false;
        };
    }

    @Override
    public int blocks() {
        return blocks.length;
    }

    @Override
    public long block(int depth) {
        return blocks[depth];
    }

    /** Returns this request with its tokens, which fill its blocks. */
    public HoldRequest withTokens(int[] known) {
        return new HoldRequest(blocks, Optional.of(known.clone()), lease, weight, requester, measured);
    }

    /**
     * Returns this request for a requester that releases it now and then, so that its effect on time to first token is
     * measured, and for longer where it does not help.
     */
    public HoldRequest toBeMeasured() {
        return new HoldRequest(blocks, tokens, lease, weight, requester, true);
    }

    /** The largest of its token ids, as a number without sign; -1 where they are not known. */
    public long largestToken() {
        long largest = -1;
        for (int token : tokens.orElseGet(() -> new int[0])) {
            largest = Math.max(largest, token & 0xffff_ffffL);
        }
        return largest;
    }

    /** Returns the tokens of the prefix; absent where it was requested by the names of its blocks. */
    public Optional<int[]> tokens() {
        return tokens.map(int[]::clone);
    }

    /** Returns the number of its tokens that are known: all, or none. */
    public int tokenCount() {
        return tokens.map(known -> known.length).orElse(0);
    }

    /** The tokens of its first blocks; none where they are not known. */
    public int[] tokensOf(int firstBlocks) {
        return tokens.map(known -> Arrays.copyOf(known, known.length / blocks.length * firstBlocks))
                .orElseGet(() -> new int[0]);
    }

    /** Returns the memory it takes, in names of blocks, which have eight bytes; a token has four. */
    public int size() {
        return blocks.length + tokens.map(known -> known.length / 2).orElse(0);
    }

    public Lease lease() {
        return lease;
    }

    /** Returns the weight, 1 to 100: where room is short, the heavier hold is taken first. */
    public int weight() {
        return weight;
    }

    /** Who asks; empty for somebody without a name. */
    public String requester() {
        return requester;
    }

    /** Returns true if it may be released for a while to measure what it does. */
    public boolean measured() {
        return measured;
    }

    /** Returns true if both are the same blocks. */
    boolean samePrefix(HoldRequest other) {
        return blocks.length == other.blocks.length && blocks[blocks.length - 1] == other.blocks[blocks.length - 1];
    }
}
