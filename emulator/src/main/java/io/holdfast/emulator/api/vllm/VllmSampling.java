package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.ValidatedBody;
import java.util.Optional;
import java.util.function.DoublePredicate;

/** vLLM's checks of its sampling parameters, one by one. */
final class VllmSampling {
    private static final double GREEDY = 1e-5;

    private VllmSampling() {}

    /** @param most tokens that the answer may have */
    static Optional<RequestRefused> problem(ValidatedBody body, long most) {
        return sequences(body)
                .or(() -> plain(body, "presence_penalty", value -> !(Math.abs(value) <= 2), "in [-2, 2]"))
                .or(() -> plain(body, "frequency_penalty", value -> !(Math.abs(value) <= 2), "in [-2, 2]"))
                .or(() -> plain(body, "repetition_penalty", value -> !(value > 0), "greater than zero"))
                .or(() -> named(body, "temperature", value -> value < 0, "non-negative"))
                .or(() -> named(body, "temperature", value -> value > 2, "in [0, 2]"))
                .or(() -> named(body, "top_p", value -> !(value > 0 && value <= 1), "in (0, 1]"))
                .or(() -> topK(body))
                .or(() -> plain(body, "min_p", value -> !(value >= 0 && value <= 1), "in [0, 1]"))
                .or(() -> lengths(body, most))
                .or(() -> body.texts("stop").contains("")
                        ? Optional.of(VllmErrors.bad("stop cannot contain an empty string."))
                        : Optional.empty())
                .or(() -> greedy(body));
    }

    private static Optional<RequestRefused> sequences(ValidatedBody body) {
        long each = body.whole("n").orElse(1);
        return each < 1 ? Optional.of(VllmErrors.bad("n must be at least 1, got " + each + ".")) : Optional.empty();
    }

    private static Optional<RequestRefused> greedy(ValidatedBody body) {
        long each = body.whole("n").orElse(1);
        boolean greedy = body.number("temperature").orElse(1.0) < GREEDY;
        return greedy && each > 1
                ? Optional.of(VllmErrors.bad("n must be 1 when using greedy sampling, got " + each + "."))
                : Optional.empty();
    }

    private static Optional<String> out(ValidatedBody body, String name, DoublePredicate range, String wanted) {
        return body.number(name).filter(range::test).map(value -> name + " must be " + wanted + ", got " + value + ".");
    }

    private static Optional<RequestRefused> plain(
            ValidatedBody body, String name, DoublePredicate range, String wanted) {
        return out(body, name, range, wanted).map(VllmErrors::bad);
    }

    private static Optional<RequestRefused> named(
            ValidatedBody body, String name, DoublePredicate range, String wanted) {
        return out(body, name, range, wanted)
                .map(message -> VllmErrors.bad(
                        message, name, Double.toString(body.number(name).orElse(0.0))));
    }

    private static Optional<RequestRefused> topK(ValidatedBody body) {
        long topK = body.whole("top_k").orElse(0);
        return topK < -1
                ? Optional.of(VllmErrors.bad("top_k must be 0 (disable), or at least 1, got " + topK + "."))
                : Optional.empty();
    }

    private static Optional<RequestRefused> lengths(ValidatedBody body, long most) {
        if (most < 1) {
            return Optional.of(VllmErrors.bad(
                    "max_tokens must be at least 1, got " + most + ".", "max_tokens", Long.toString(most)));
        }
        long least = body.whole("min_tokens").orElse(0);
        if (least < 0) {
            return Optional.of(VllmErrors.bad("min_tokens must be greater than or equal to 0, got " + least + "."));
        }
        return least > most
                ? Optional.of(VllmErrors.bad(
                        "min_tokens must be less than or equal to max_tokens=" + most + ", got " + least + "."))
                : Optional.empty();
    }
}
