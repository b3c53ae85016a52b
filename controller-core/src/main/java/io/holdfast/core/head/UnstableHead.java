package io.holdfast.core.head;

import java.util.List;

/**
 * Requests that were computed anew although most of what they say was computed before, because they differ early.
 *
 * @param requests how many: one, and those after it that computed the same content again
 * @param from the first token that differs, counted from 0: the median over the requests
 * @param earliest the first token that differs in those that part soonest
 * @param sameTokens of a request, after that, that are the same in content as in one before it, on average
 * @param promptTokens of a request, in full blocks, on average
 * @param againTokens that were computed again, of all these requests together
 * @param share of all prompt tokens that the engine was seen to compute
 * @param example the two requests that came last
 */
public record UnstableHead(
        int requests,
        int from,
        int earliest,
        long sameTokens,
        long promptTokens,
        long againTokens,
        double share,
        Example example) {

    /**
     * Where two requests part. These are tokens of prompts: not to be shown unless somebody asks for them.
     *
     * @param from the first token that differs, counted from 0
     * @param before the tokens before it, the same in both
     * @param one the tokens from there on of one of them
     * @param other the tokens from there on of the other
     */
    public record Example(int from, List<Integer> before, List<Integer> one, List<Integer> other) {
        public Example {
            before = List.copyOf(before);
            one = List.copyOf(one);
            other = List.copyOf(other);
        }
    }
}
