package io.holdfast.emulator.api;

import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.RequestOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Request of a client: answers to some prompts, and how they are to be told.
 *
 * @param each answers to each prompt
 * @param prefillOnly whether the prompts are only to be read: no token is requested
 */
public record GenerationRequest(
        List<Prompt> prompts, int each, boolean prefillOnly, Stops stops, ResponseOptions options) {
    public GenerationRequest {
        prompts = List.copyOf(prompts);
    }

    /** Returns this request with an order to the connector, which goes with its first prompt. */
    public GenerationRequest withOrder(HoldOrder order) {
        Prompt first = prompts.getFirst();
        List<Prompt> ordered = new ArrayList<>(prompts);
        ordered.set(0, new Prompt(first.tokens(), first.text(), first.terms().withOrder(order)));
        return new GenerationRequest(ordered, each, prefillOnly, stops, options);
    }

    /** Returns true if it has an order to the connector. */
    boolean hasOrder() {
        return prompts.stream().anyMatch(prompt -> prompt.terms().order().isPresent());
    }

    /**
     * One prompt; two are never compared.
     *
     * @param text for an answer that repeats the prompt; made on request, since few answers do
     */
    @SuppressWarnings("ArrayRecordComponent")
    public record Prompt(int[] tokens, Supplier<String> text, RequestOptions terms) {}

    /**
     * Conditions that end an answer before its time.
     *
     * @param kept whether what ended it stays in the text
     * @param from so many tokens are said in any case
     */
    public record Stops(List<String> texts, Set<Integer> tokens, boolean kept, int from) {
        public static final Stops NONE = new Stops(List.of(), Set.of(), false, 0);

        public Stops {
            texts = List.copyOf(texts);
            tokens = Set.copyOf(tokens);
        }

        public boolean any() {
            return !texts.isEmpty() || !tokens.isEmpty();
        }

        public int longest() {
            return texts.stream().mapToInt(String::length).max().orElse(0);
        }
    }

    /**
     * Options for telling the answers.
     *
     * @param ids of the request's answers, as far as the client named them
     * @param model as the answer is to name it
     * @param usage whether a stream ends with what it cost
     * @param continuousUsage whether each chunk says what it has cost so far
     * @param echo whether the prompt comes before its answer
     * @param tokenIds whether tokens are told as numbers too
     * @param cacheDetails whether it is told from which tier cached tokens came
     * @param interval tokens from one chunk to the next
     * @param batch whether several prompts were asked, be it only one
     * @param role of the turn that is answered with
     */
    public record ResponseOptions(
            List<String> ids,
            String model,
            boolean stream,
            boolean usage,
            boolean continuousUsage,
            boolean echo,
            boolean tokenIds,
            boolean cacheDetails,
            int interval,
            boolean batch,
            String role) {
        public ResponseOptions {
            ids = List.copyOf(ids);
        }

        /** The name that the client gave to the answer at this place. */
        public Optional<String> id(int index) {
            return index < ids.size() ? Optional.of(ids.get(index)) : Optional.empty();
        }
    }
}
