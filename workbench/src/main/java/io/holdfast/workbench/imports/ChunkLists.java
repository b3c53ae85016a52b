package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.measure.Quantity;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Single requests as vLLM's and SGLang's clients list them: times to the first chunk and gaps between chunks, in
 * seconds, with the tokens of each answer.
 */
final class ChunkLists {
    /**
     * One that was answered, in milliseconds.
     *
     * @param gaps between its chunks
     */
    private record Answer(double first, List<Double> gaps, int tokens) {
        double last() {
            return first + gaps.stream().mapToDouble(Double::doubleValue).sum();
        }
    }

    private final List<Answer> answers = new ArrayList<>();
    private final List<String> errors = new ArrayList<>();

    ChunkLists(JsonNode document, Path file) {
        JsonNode firsts = document.path("ttfts");
        JsonNode gaps = document.path("itls");
        JsonNode lengths = document.path("output_lens");
        JsonNode said = document.path("errors");
        if (firsts.size() != gaps.size() || firsts.size() != lengths.size()) {
            throw new LoadTestException("The file " + file + " lists " + firsts.size() + " times to first token, "
                    + gaps.size() + " rows of gaps and " + lengths.size()
                    + " lengths; take it as the tool wrote it, for it is not whole.");
        }
        for (int i = 0; i < firsts.size(); i++) {
            String error = said.path(i).asText("");
            if (error.isEmpty() && firsts.path(i).asDouble() > 0) {
                List<Double> millis = new ArrayList<>();
                gaps.path(i).forEach(gap -> millis.add(1e3 * gap.asDouble()));
                answers.add(new Answer(
                        1e3 * firsts.path(i).asDouble(),
                        List.copyOf(millis),
                        lengths.path(i).asInt()));
            } else {
                errors.add(
                        error.isEmpty()
                                ? "no token came"
                                : error.lines().findFirst().orElse(error));
            }
        }
    }

    static boolean areIn(JsonNode document) {
        return document.path("ttfts").isArray() && document.path("itls").isArray();
    }

    List<String> errors() {
        return errors;
    }

    /** The times of the answers, with those that follow from them. */
    void putInto(Told told, Quantity first) {
        told.values(first, answers.stream().mapToDouble(Answer::first).toArray());
        double[] gaps = answers.stream()
                .flatMapToDouble(answer -> answer.gaps().stream().mapToDouble(Double::doubleValue))
                .toArray();
        if (answers.stream().allMatch(answer -> answer.gaps().size() == answer.tokens() - 1)) {
            told.values(Quantity.ITL, gaps);
        }
        told.values(Quantity.ICL, gaps);
        if (first == Quantity.TTFT) {
            told.values(
                    Quantity.TPOT,
                    answers.stream()
                            .filter(answer -> answer.tokens() > 1)
                            .mapToDouble(answer -> (answer.last() - answer.first()) / (answer.tokens() - 1))
                            .toArray());
        }
        told.values(Quantity.E2E, answers.stream().mapToDouble(Answer::last).toArray());
    }
}
