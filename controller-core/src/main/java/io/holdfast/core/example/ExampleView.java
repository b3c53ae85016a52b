package io.holdfast.core.example;

import java.time.Duration;
import java.util.List;

/**
 * A view of what an example has seen so far.
 *
 * @param left how much longer it notes what is stored; zero once it has ended
 * @param requests that stored something while it ran and whose prompts are known from their first block on
 * @param unplaced requests of which that is not known
 * @param notNoted requests beyond what an example remembers
 * @param prefixes those that several prompts begin with and the whole prompts, the most used first
 */
public record ExampleView(
        long id, boolean running, Duration left, int requests, int unplaced, int notNoted, List<Seen> prefixes) {

    public ExampleView {
        prefixes = List.copyOf(prefixes);
    }

    /**
     * One prefix.
     *
     * @param number from 1 on
     * @param prompts different prompts that begin with it
     * @param requests that had one of them
     * @param whole whether it is a whole prompt, as far as that fills blocks
     */
    public record Seen(int number, int blocks, long tokens, int prompts, int requests, boolean whole) {}
}
