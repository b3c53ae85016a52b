package io.holdfast.loadtest.replay;

import io.holdfast.core.head.UnstableHead;
import java.util.List;
import java.util.OptionalDouble;

/**
 * Recorded requests that share most of their tokens but differ early, so that no cache can spare them.
 *
 * @param requests how many
 * @param from the first token that differs, counted from 0
 * @param earliest the first that differs in those that part soonest
 * @param sameTokens of a request after that, which are the same in content as in one before it, on average
 * @param promptTokens of a request, on average
 * @param againTokens that were computed again
 * @param share of all prompt tokens that were computed
 * @param seconds of prefill for what was computed again; empty where the recording does not tell what prefill costs
 * @param example two of them: tokens of prompts, for those only who ask for them
 */
public record RecordedHead(
        int requests,
        int from,
        int earliest,
        long sameTokens,
        long promptTokens,
        long againTokens,
        double share,
        OptionalDouble seconds,
        Example example) {

    /** Where two requests part: what stands before it in both, and what in each from there on. */
    public record Example(int from, List<Integer> before, List<Integer> one, List<Integer> other) {
        public Example {
            before = List.copyOf(before);
            one = List.copyOf(one);
            other = List.copyOf(other);
        }
    }

    static RecordedHead of(UnstableHead found, OptionalDouble seconds) {
        UnstableHead.Example parting = found.example();
        return new RecordedHead(
                found.requests(),
                found.from(),
                found.earliest(),
                found.sameTokens(),
                found.promptTokens(),
                found.againTokens(),
                found.share(),
                seconds,
                new Example(parting.from(), parting.before(), parting.one(), parting.other()));
    }
}
