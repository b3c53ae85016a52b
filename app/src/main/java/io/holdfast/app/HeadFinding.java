package io.holdfast.app;

import io.holdfast.loadtest.replay.RecordedHead;
import io.holdfast.sidecar.Observation;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Requests that share most of their tokens but differ early, whoever found them.
 *
 * @param requests how many
 * @param from the first token that differs, counted from 0
 * @param earliest the first that differs in those that part soonest
 * @param sameTokens of a request after that, which are the same in content as in one before it, on average
 * @param promptTokens of a request, on average
 * @param againTokens that were computed again
 * @param share of all prompt tokens that were computed
 * @param seconds of prefill for what was computed again; empty while unknown
 * @param example two of them; only where somebody asked to see tokens of prompts
 */
record HeadFinding(
        int requests,
        int from,
        int earliest,
        long sameTokens,
        long promptTokens,
        long againTokens,
        double share,
        OptionalDouble seconds,
        Optional<Example> example) {

    /** Where two requests part: what stands before it in both, and what in each from there on. */
    record Example(int from, Passage before, Passage one, Passage other) {}

    /** Tokens, and their text where a tokenizer gave it. */
    record Passage(List<Integer> tokens, Optional<String> text) {
        Passage {
            tokens = List.copyOf(tokens);
        }
    }

    static HeadFinding of(Observation.UnstableHead head) {
        return new HeadFinding(
                head.requests(),
                head.from(),
                head.earliest(),
                head.sameTokens(),
                head.promptTokens(),
                head.againTokens(),
                head.share(),
                head.seconds(),
                head.example()
                        .map(each -> new Example(
                                each.from(), passage(each.before()), passage(each.one()), passage(each.other()))));
    }

    static HeadFinding of(RecordedHead head, boolean showText) {
        return new HeadFinding(
                head.requests(),
                head.from(),
                head.earliest(),
                head.sameTokens(),
                head.promptTokens(),
                head.againTokens(),
                head.share(),
                head.seconds(),
                Optional.of(head.example())
                        .filter(each -> showText)
                        .map(each -> new Example(each.from(), ids(each.before()), ids(each.one()), ids(each.other()))));
    }

    /** A recording has no tokenizer. */
    private static Passage ids(List<Integer> tokens) {
        return new Passage(tokens, Optional.empty());
    }

    private static Passage passage(Observation.Passage passage) {
        return new Passage(passage.tokens(), passage.text());
    }
}
