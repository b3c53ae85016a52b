package io.holdfast.core.head;

import io.holdfast.core.head.UnstableHead.Example;
import io.holdfast.core.head.UnstableHead.Passage;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalDouble;

/** Prompts that share content behind heads that differ. */
final class HeadGroup {
    private static final int BEFORE = 8;
    private static final int AFTER = 16;
    private static final int PARTINGS = 64;

    private final int[] partings = new int[PARTINGS];
    private int requests = 1;
    private int earliest = Integer.MAX_VALUE;
    private long promptTokens;
    private long againTokens;
    /** Example of two requests; absent before the second. */
    private Optional<Example> example = Optional.empty();

    private boolean kept = true;

    /** @param first the prompt whose content the others have as well */
    HeadGroup(Prompt first) {
        first.joins(this);
    }

    /** Another one, which parts from one before it and has so much of its content. */
    void add(Prompt prompt, Prompt other) {
        prompt.joins(this);
        partings[(requests - 1) % PARTINGS] = prompt.parting;
        earliest = Math.min(earliest, prompt.parting);
        requests++;
        promptTokens += prompt.tokens.length;
        againTokens += prompt.same;
        example = Optional.of(new Example(
                prompt.parting,
                slice(prompt, prompt.parting - BEFORE, prompt.parting),
                slice(other, prompt.parting, prompt.parting + AFTER),
                slice(prompt, prompt.parting, prompt.parting + AFTER)));
    }

    /** More of one that was added became known. */
    void more(int moreTokens, int moreAgain) {
        promptTokens += moreTokens;
        againTokens += moreAgain;
    }

    private static Passage slice(Prompt prompt, int from, int to) {
        return new Passage(
                Arrays.stream(prompt.tokens, Math.max(0, from), Math.min(to, prompt.tokens.length))
                        .boxed()
                        .toList(),
                Optional.empty());
    }

    int requests() {
        return requests;
    }

    long againTokens() {
        return againTokens;
    }

    /** Returns true if it is still one of those that are followed. */
    boolean kept() {
        return kept;
    }

    void forget() {
        kept = false;
    }

    UnstableHead found(long computedTokens) {
        int again = requests - 1;
        int[] sorted = Arrays.copyOf(partings, Math.min(again, PARTINGS));
        Arrays.sort(sorted);
        return new UnstableHead(
                requests,
                sorted[sorted.length / 2],
                earliest,
                againTokens / again,
                promptTokens / again,
                againTokens,
                (double) againTokens / Math.max(1, computedTokens),
                OptionalDouble.empty(),
                example);
    }
}
