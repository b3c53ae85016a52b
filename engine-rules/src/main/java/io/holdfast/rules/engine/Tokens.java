package io.holdfast.rules.engine;

import java.util.Arrays;
import java.util.List;

/** A run of tokens within an array that its owner does not write any more. */
public final class Tokens {
    public static final Tokens NONE = new Tokens(new int[0], 0, 0);

    private final int[] array;
    private final int from;
    private final int size;

    private Tokens(int[] array, int from, int size) {
        this.array = array;
        this.from = from;
        this.size = size;
    }

    public static Tokens of(int... tokens) {
        return new Tokens(tokens, 0, tokens.length);
    }

    /** The tokens from one position up to before another. */
    public static Tokens between(int[] array, int from, int to) {
        return new Tokens(array, from, to - from);
    }

    public int size() {
        return size;
    }

    public int get(int index) {
        return array[from + index];
    }

    public int[] toArray() {
        return Arrays.copyOfRange(array, from, from + size);
    }

    /** Some of these tokens, without a copy. */
    public Tokens part(int begin, int end) {
        return new Tokens(array, from + begin, end - begin);
    }

    /** All of them, one after the other. */
    public static Tokens joined(List<Tokens> parts) {
        if (parts.size() == 1) {
            return parts.getFirst();
        }
        int[] all = new int[parts.stream().mapToInt(Tokens::size).sum()];
        int at = 0;
        for (Tokens part : parts) {
            System.arraycopy(part.array, part.from, all, at, part.size);
            at += part.size;
        }
        return of(all);
    }

    /** These tokens and then the others. */
    public Tokens and(Tokens more) {
        int[] both = Arrays.copyOfRange(array, from, from + size + more.size);
        System.arraycopy(more.array, more.from, both, size, more.size);
        return new Tokens(both, 0, both.length);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Tokens that
                && Arrays.equals(array, from, from + size, that.array, that.from, that.from + that.size);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(toArray());
    }

    @Override
    public String toString() {
        return Arrays.toString(toArray());
    }
}
