package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.RequestRefused;
import io.holdfast.emulator.api.ValidatedBody;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.DoublePredicate;

/** SGLang's checks of sampling parameters, one by one. */
final class SglangSampling {
    private static final Set<String> NAMES =
            Set.of(("max_new_tokens stop stop_token_ids stop_regex temperature top_p top_k min_p frequency_penalty"
                + " presence_penalty repetition_penalty min_new_tokens n json_schema regex ebnf structural_tag"
                + " ignore_eos skip_special_tokens spaces_between_special_tokens no_stop_trim stream_interval"
                + " logit_bias sampling_seed custom_params beam_width watermark choice")
                    .split(" "));

    private SglangSampling() {}

    /** The native route takes no parameter that it does not know. */
    static void checkNames(ValidatedBody sampling) {
        for (String name : sampling.names()) {
            if (!NAMES.contains(name)) {
                throw new RequestRefused(400, new JsonObject().put("error", "unknown field `" + name + "`"));
            }
        }
    }

    /** The first parameter that is out of its range, in the engine's words. */
    static Optional<String> problem(ValidatedBody body, String least, OptionalLong most) {
        return out(body, "temperature", value -> value < 0 || !Double.isFinite(value), "a non-negative finite number")
                .or(() -> out(body, "top_p", value -> !(value > 0 && value <= 1), "in (0, 1]"))
                .or(() -> out(body, "min_p", value -> !(value >= 0 && value <= 1), "in [0, 1]"))
                .or(() -> topK(body))
                .or(() -> out(body, "frequency_penalty", value -> Math.abs(value) > 2, "in [-2, 2]"))
                .or(() -> out(body, "presence_penalty", value -> Math.abs(value) > 2, "in [-2, 2]"))
                .or(() -> out(
                        body,
                        "repetition_penalty",
                        value -> !(value > 0 && value <= 2),
                        "in (0, 2] (1.0 = no penalty)"))
                .or(() -> lengths(body.whole(least).orElse(0), most));
    }

    private static Optional<String> out(ValidatedBody body, String name, DoublePredicate excludes, String wanted) {
        return body.number(name)
                .filter(excludes::test)
                .map(value -> name + " must be " + wanted + ", got " + value + ".");
    }

    /** Greedy sampling does not look at it. */
    private static Optional<String> topK(ValidatedBody body) {
        long topK = body.whole("top_k").orElse(-1);
        boolean greedy = body.number("temperature").orElse(1.0) < 1e-6;
        return topK < 1 && topK != -1 && !greedy
                ? Optional.of("top_k must be -1 (disable) or at least 1, got " + topK + ".")
                : Optional.empty();
    }

    private static Optional<String> lengths(long fewest, OptionalLong most) {
        if (fewest < 0) {
            return Optional.of("min_new_tokens must be in [0, max_new_tokens], got " + fewest + ".");
        }
        if (most.isPresent() && most.getAsLong() < 0) {
            return Optional.of("max_new_tokens must be at least 0, got " + most.getAsLong() + ".");
        }
        return most.isPresent() && fewest > most.getAsLong()
                ? Optional.of(
                        "min_new_tokens must be in [0, max_new_tokens(" + most.getAsLong() + ")], got " + fewest + ".")
                : Optional.empty();
    }
}
