package io.holdfast.workbench.load;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Salt;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/** Planned lengths of prompts, against the server's limit and its counts. */
public final class Lengths {
    private static final double APART = 0.05;
    /** A template and a mark of beginning may add so much. */
    private static final int ADDED = 64;

    private Lengths() {}

    /** The most tokens that a prompt with such an answer may have; absent where nobody knows. */
    public static OptionalLong most(EngineFacts facts, int answer) {
        return facts.longestPrompt().isEmpty()
                ? OptionalLong.empty()
                // What a vLLM tells is the length of prompt and answer together, what an SGLang tells that of the
                // prompt.
                : OptionalLong.of(
                        facts.longestPrompt().getAsLong() - (facts.family() == EngineFacts.Family.VLLM ? answer : 0));
    }

    /** Refuses, before anything is sent, legs of which the server would refuse requests. */
    public static void refuseTooLong(List<Suite.Leg> legs, EngineFacts facts) {
        for (Suite.Leg leg : legs) {
            for (LoadRequest request : leg.load().requests()) {
                OptionalLong most = most(facts, request.maxTokens());
                if (request.messages().isEmpty()
                        && most.isPresent()
                        && request.length() + Salt.tokens() > most.getAsLong()) {
                    throw new LoadTestException(String.format(
                            Locale.ROOT,
                            "The leg %s has a prompt of %,d tokens with an answer of %,d, and the server takes prompts"
                                + " of at most %,d with such an answer; leave out what is longer, or start the server"
                                + " with a longer context.",
                            leg.id(),
                            request.length(),
                            request.maxTokens(),
                            most.getAsLong() - Salt.tokens()));
                }
            }
        }
    }

    /** Reports that the server counted other lengths than requested, if so. */
    static Optional<String> unlike(List<LoadRequest> asSent, List<RequestRecord> measured) {
        double wanted = 0;
        double counted = 0;
        int requests = 0;
        for (RequestRecord record : measured) {
            LoadRequest request = asSent.get(record.number());
            if (record.isOk()
                    && record.promptTokens().isPresent()
                    && request.messages().isEmpty()) {
                requests++;
                wanted += request.length();
                counted += record.promptTokens().getAsInt();
            }
        }
        return requests == 0 || Math.abs(counted - wanted) <= Math.max(APART * wanted, ADDED * requests)
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "Prompts were to have %,.0f tokens in the mean and had %,.0f by the server's count, since text"
                                + " is sent and the server does not tell beforehand how many tokens a word is.",
                        wanted / requests,
                        counted / requests));
    }
}
