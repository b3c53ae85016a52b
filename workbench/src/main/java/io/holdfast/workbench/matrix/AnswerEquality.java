package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.workbench.load.LoadLeg;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Comparison of answers to the same request, decoded greedily, across batches and cache states. The answers to one
 * prompt at a time, cold, are the reference for all others.
 *
 * @param compared answers that could be held against one
 * @param others of them those that were none of the answers that the same prompt got alone and cold
 * @param byConfiguration of each batch size and state the others, where there are any
 * @param amongAlone answers to one prompt at a time, cold, that differ among themselves: what chance does by itself
 */
public record AnswerEquality(int compared, int others, Map<String, Integer> byConfiguration, int amongAlone) {
    /**
     * Compares legs of one folder.
     *
     * @param sameTexts whether all legs of a length asked for the same texts; if not nothing can be compared
     */
    public static Optional<AnswerEquality> of(List<LoadLeg> legs, boolean sameTexts) {
        Map<Integer, Map<String, Integer>> alone = new HashMap<>();
        Set<LoadLeg> references = new HashSet<>();
        for (LoadLeg leg : legs) {
            MatrixLeg.of(leg.id())
                    .filter(id -> sameTexts && id.batch() == 1 && id.state() == CacheState.COLD)
                    .ifPresent(id -> {
                        references.add(leg);
                        leg.measured().stream()
                                .findFirst()
                                .flatMap(AnswerEquality::answer)
                                .ifPresent(answer -> alone.computeIfAbsent(id.context(), any -> new HashMap<>())
                                        .merge(answer, 1, Integer::sum));
                    });
        }
        int compared = 0;
        int others = 0;
        Map<String, Integer> by = new TreeMap<>();
        for (LoadLeg leg : legs) {
            Optional<MatrixLeg> id = MatrixLeg.of(leg.id());
            // The first text of several together is the one that is asked for alone.
            Optional<String> answer = leg.measured().stream()
                    .filter(request -> request.number() == firstNumber(leg))
                    .findFirst()
                    .flatMap(AnswerEquality::answer);
            if (id.isPresent() && answer.isPresent() && !references.contains(leg)) {
                Map<String, Integer> known = alone.getOrDefault(id.get().context(), Map.of());
                if (!known.isEmpty()) {
                    compared++;
                    if (!known.containsKey(answer.get())) {
                        others++;
                        by.merge("b" + id.get().batch() + "/" + id.get().state().word(), 1, Integer::sum);
                    }
                }
            }
        }
        int among = alone.values().stream()
                .mapToInt(known ->
                        known.values().stream().mapToInt(Integer::intValue).sum()
                                - known.values().stream()
                                        .mapToInt(Integer::intValue)
                                        .max()
                                        .orElse(0))
                .sum();
        return compared == 0 ? Optional.empty() : Optional.of(new AnswerEquality(compared, others, by, among));
    }

    private static int firstNumber(LoadLeg leg) {
        return leg.measured().stream().mapToInt(RequestRecord::number).min().orElse(0);
    }

    private static Optional<String> answer(RequestRecord request) {
        return request.isOk() ? request.output() : Optional.empty();
    }

    /** Returns the result in a sentence. */
    public String text() {
        String alone = amongAlone == 0
                ? "The answers to a prompt that was sent alone and cold were always the same."
                : String.format(
                        Locale.ROOT,
                        "Prompts that were sent alone and cold got another answer than most times %d times.",
                        amongAlone);
        return (others == 0
                        ? "Answers: each of " + compared + " is one that the same prompt got alone and cold, as greedy"
                                + " decoding should have it. "
                        : String.format(
                                Locale.ROOT,
                                "Answers: %d of %d (%.1f %%) differ from all that the same prompt got alone and cold,"
                                        + " though all decode greedily%s. ",
                                others,
                                compared,
                                100.0 * others / compared,
                                byConfiguration.isEmpty() ? "" : " " + byConfiguration))
                + alone;
    }
}
