package io.holdfast.core.head;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

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
 * @param seconds of prefill for what was computed again; empty while what prefill costs is unknown
 * @param example the two requests that came last; absent where nobody asked to see tokens of prompts
 */
public record UnstableHead(
        int requests,
        int from,
        int earliest,
        long sameTokens,
        long promptTokens,
        long againTokens,
        double share,
        OptionalDouble seconds,
        Optional<Example> example) {
    /** Returns the same with what it costs. */
    public UnstableHead costing(OptionalDouble prefillSeconds) {
        return new UnstableHead(
                requests, from, earliest, sameTokens, promptTokens, againTokens, share, prefillSeconds, example);
    }

    /** Returns the same with no token of any prompt. */
    public UnstableHead withoutExample() {
        return with(Optional.empty());
    }

    /** Returns the same with the tokens of its example as texts, where there is one for them. */
    public UnstableHead withTexts(Function<List<Integer>, Optional<String>> texts) {
        return with(example.map(shown ->
                new Example(shown.from, shown.before.with(texts), shown.one.with(texts), shown.other.with(texts))));
    }

    private UnstableHead with(Optional<Example> shown) {
        return new UnstableHead(requests, from, earliest, sameTokens, promptTokens, againTokens, share, seconds, shown);
    }

    /**
     * Place at which two requests part. These are tokens of prompts: not to be shown unless somebody asks for them.
     *
     * @param from the first token that differs, counted from 0
     * @param before the tokens before it, the same in both
     * @param one the tokens from there on of one of them
     * @param other the tokens from there on of the other
     */
    public record Example(int from, Passage before, Passage one, Passage other) {}

    /**
     * Tokens of a prompt.
     *
     * @param text as the engine's tokenizer has it; absent where nobody asked it, or it does not tell
     */
    public record Passage(List<Integer> tokens, Optional<String> text) {
        public Passage {
            tokens = List.copyOf(tokens);
        }

        private Passage with(Function<List<Integer>, Optional<String>> texts) {
            return new Passage(tokens, texts.apply(tokens));
        }
    }
}
