package io.holdfast.emulator.api;

import java.util.List;
import java.util.Optional;
import java.util.function.DoublePredicate;

/** vLLM's checks of its sampling parameters, one by one. */
final class VllmSampling {
    private static final double GREEDY = 1e-5;

    private VllmSampling() {}

    /** @param most tokens that the answer may have */
    static Optional<Refused> problem(Values values, long most, int vocabulary) {
        return bias(values, vocabulary)
                .or(() -> sequences(values))
                .or(() -> plain(values, "presence_penalty", value -> !(Math.abs(value) <= 2), "in [-2, 2]"))
                .or(() -> plain(values, "frequency_penalty", value -> !(Math.abs(value) <= 2), "in [-2, 2]"))
                .or(() -> plain(values, "repetition_penalty", value -> !(value > 0), "greater than zero"))
                .or(() -> named(values, "temperature", value -> !Double.isFinite(value), "a finite number"))
                .or(() -> named(values, "temperature", value -> value < 0, "non-negative"))
                .or(() -> named(values, "temperature", value -> value > 2, "in [0, 2]"))
                .or(() -> named(values, "top_p", value -> !(value > 0 && value <= 1), "in (0, 1]"))
                .or(() -> topK(values))
                .or(() -> plain(values, "min_p", value -> !(value >= 0 && value <= 1), "in [0, 1]"))
                .or(() -> lengths(values, most))
                .or(() -> values.texts("stop").contains("")
                        ? Optional.of(VllmWords.bad("stop cannot contain an empty string."))
                        : Optional.empty())
                .or(() -> greedy(values));
    }

    private static Optional<Refused> sequences(Values values) {
        long each = values.whole("n").orElse(1);
        return each < 1 ? Optional.of(VllmWords.bad("n must be at least 1, got " + each + ".")) : Optional.empty();
    }

    private static Optional<Refused> greedy(Values values) {
        long each = values.whole("n").orElse(1);
        boolean greedy = values.number("temperature").orElse(1.0) < GREEDY;
        return greedy && each > 1
                ? Optional.of(VllmWords.bad("n must be 1 when using greedy sampling, got " + each + "."))
                : Optional.empty();
    }

    private static Optional<String> out(Values values, String name, DoublePredicate range, String wanted) {
        return values.number(name)
                .filter(range::test)
                .map(value -> name + " must be " + wanted + ", got " + Python.repr(value) + ".");
    }

    private static Optional<Refused> plain(Values values, String name, DoublePredicate range, String wanted) {

        return out(values, name, range, wanted).map(VllmWords::bad);
    }

    private static Optional<Refused> named(Values values, String name, DoublePredicate range, String wanted) {
        return out(values, name, range, wanted)
                .map(message -> VllmWords.bad(
                        message, name, Python.repr(values.number(name).orElse(0.0))));
    }

    private static Optional<Refused> topK(Values values) {
        long topK = values.whole("top_k").orElse(0);
        return topK < -1
                ? Optional.of(VllmWords.bad("top_k must be 0 (disable), or at least 1, got " + topK + "."))
                : Optional.empty();
    }

    private static Optional<Refused> lengths(Values values, long most) {
        if (most < 1) {
            return Optional.of(VllmWords.bad(
                    "max_tokens must be at least 1, got " + most + ".", "max_tokens", Long.toString(most)));
        }
        long least = values.whole("min_tokens").orElse(0);
        if (least < 0) {
            return Optional.of(VllmWords.bad("min_tokens must be greater than or equal to 0, got " + least + "."));
        }
        return least > most
                ? Optional.of(VllmWords.bad(
                        "min_tokens must be less than or equal to max_tokens=" + most + ", got " + least + "."))
                : Optional.empty();
    }

    private static Optional<Refused> bias(Values values, int vocabulary) {
        Optional<Values> bias = values.object("logit_bias");
        if (bias.isEmpty()) {
            return Optional.empty();
        }
        List<String> keys = List.copyOf(bias.get().body().fields().keySet());
        List<String> texts = keys.stream()
                .filter(key -> !key.strip().matches("[+-]?\\d{1,18}"))
                .map(Python::repr)
                .toList();
        if (!texts.isEmpty()) {
            return Optional.of(VllmWords.bad(
                    "logit_bias contains key(s) that cannot be converted to integer token IDs: " + texts,
                    "logit_bias",
                    texts.toString()));
        }
        List<Long> beyond = keys.stream()
                .map(key -> Long.parseLong(key.strip()))
                .filter(token -> token < 0 || token >= vocabulary)
                .toList();
        return beyond.isEmpty()
                ? Optional.empty()
                : Optional.of(VllmWords.bad(
                        "token_id(s) " + beyond + " in logit_bias contain out-of-vocab token ids. Vocabulary size: "
                                + vocabulary,
                        "logit_bias",
                        beyond.toString()));
    }
}
