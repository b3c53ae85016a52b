package io.holdfast.core.head;

import java.util.Arrays;
import java.util.Optional;

/** A prompt that is remembered, for those after it to be compared with. */
final class Prompt {
    /** Number from 1 on, in the order in which prompts came. */
    final int number;

    int[] tokens;
    /** Start of its first piece that was not looked at. */
    int cutFrom;

    private Optional<HeadGroup> group = Optional.empty();
    /**
     * Token at which it parts from the prompt that it was compared with, and how many are the same after that; where it
     * is in a group.
     */
    int parting;

    int same;

    Prompt(int number, int[] tokens, int cutFrom) {
        this.number = number;
        this.tokens = tokens;
        this.cutFrom = cutFrom;
    }

    Optional<HeadGroup> group() {
        return group.filter(HeadGroup::kept);
    }

    void joins(HeadGroup joined) {
        group = Optional.of(joined);
    }

    /** The first token that differs, or -1 where one is the beginning of the other. */
    int parting(Prompt other) {
        int at = Arrays.mismatch(tokens, other.tokens);
        return at == Math.min(tokens.length, other.tokens.length) ? -1 : at;
    }
}
