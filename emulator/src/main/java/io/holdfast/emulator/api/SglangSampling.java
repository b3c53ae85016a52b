package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** SGLang's sampling parameters: read by a strict parser where they come in its own form, then checked one by one. */
final class SglangSampling {
    private static final List<String> NAMES = List.of(
            "max_new_tokens",
            "stop",
            "stop_token_ids",
            "stop_regex",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "min_new_tokens",
            "n",
            "json_schema",
            "regex",
            "ebnf",
            "structural_tag",
            "ignore_eos",
            "skip_special_tokens",
            "spaces_between_special_tokens",
            "no_stop_trim",
            "stream_interval",
            "logit_bias",
            "sampling_seed",
            "custom_params",
            "beam_width",
            "watermark",
            "choice");
    private static final List<String> WHOLE =
            List.of("max_new_tokens", "top_k", "min_new_tokens", "n", "stream_interval", "beam_width");
    private static final List<String> REAL =
            List.of("temperature", "top_p", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty");
    private static final List<String> FLAGS =
            List.of("ignore_eos", "skip_special_tokens", "spaces_between_special_tokens", "no_stop_trim");

    private SglangSampling() {}

    /** The parameters of a {@code /generate} body, which has been found to be in order but for these. */
    static Values check(Values body) {
        checkFlag(body, "stream");
        body.get("input_ids").ifPresent(ids -> {
            if (ids instanceof Json.Arr(List<Json> items)
                    && !items.isEmpty()
                    && items.getFirst() instanceof Json.Bool first) {
                throw strict("invalid type: " + typeOf(first) + ", expected a sequence");
            }
        });
        Optional<Json> given = body.get("sampling_params");
        if (given.isPresent() && given.get() instanceof Json.Arr) {
            throw new Crash(Crash.Reach.REQUEST);
        }
        Values sampling = body.object("sampling_params").orElseGet(() -> new Values(new Json.Obj(Map.of())));
        for (String name : sampling.body().fields().keySet()) {
            if (!NAMES.contains(name)) {
                throw strict("unknown field `" + name + "`, expected one of "
                        + NAMES.stream().map(known -> "`" + known + "`").collect(Collectors.joining(", ")));
            }
        }
        WHOLE.forEach(name -> check(sampling, name, Json.Int.class, "i64"));
        REAL.forEach(name -> sampling.get(name)
                .filter(value -> !(value instanceof Json.Real) && !(value instanceof Json.Int))
                .ifPresent(value -> {
                    throw strict("invalid type: " + typeOf(value) + ", expected f64");
                }));
        FLAGS.forEach(name -> checkFlag(sampling, name));
        checkStop(sampling);
        return sampling;
    }

    private static void checkFlag(Values values, String name) {
        check(values, name, Json.Bool.class, "a boolean");
    }

    private static void check(Values values, String name, Class<? extends Json> type, String expected) {
        values.get(name).filter(value -> !type.isInstance(value)).ifPresent(value -> {
            throw strict("invalid type: " + typeOf(value) + ", expected " + expected);
        });
    }

    private static void checkStop(Values values) {
        values.get("stop").ifPresent(stop -> {
            if (stop instanceof Json.Arr(List<Json> items)) {
                items.stream()
                        .filter(item -> !(item instanceof Json.Str))
                        .findFirst()
                        .ifPresent(item -> {
                            throw strict("invalid type: " + typeOf(item) + ", expected a string");
                        });
            } else if (!(stop instanceof Json.Str)) {
                throw strict(
                        "invalid type: " + typeOf(stop) + ", expected a value or an array of values for StringOrList");
            }
        });
    }

    private static String typeOf(Json value) {
        return switch (value) {
            case Json.Str(String text) -> "string \"" + text + "\"";
            case Json.Int(long whole) -> "integer `" + whole + "`";
            case Json.Big big -> "integer `" + big.value() + "`";
            case Json.Real real -> "floating point `" + real.repr() + "`";
            case Json.Bool bool -> "boolean `" + bool.value() + "`";
            case Json.Null _ -> "null";
            case Json.Arr _ -> "sequence";
            case Json.Obj _ -> "map";
            case Json.Bytes _ -> "byte array";
        };
    }

    private static Refused strict(String message) {
        return new Refused(400, new JsonObject().put("error", message));
    }

    /** The first parameter that is out of its range, as the engine says it. */
    static Optional<String> problem(Values values, String least, String seed, OptionalLong most, int vocabulary) {
        return out(values, "temperature", value -> value < 0 || !Double.isFinite(value), "a non-negative finite number")
                .or(() -> out(values, "top_p", value -> !(value > 0 && value <= 1), "in (0, 1]"))
                .or(() -> out(values, "min_p", value -> !(value >= 0 && value <= 1), "in [0, 1]"))
                .or(() -> topK(values))
                .or(() -> out(values, "frequency_penalty", value -> Math.abs(value) > 2, "in [-2, 2]"))
                .or(() -> out(values, "presence_penalty", value -> Math.abs(value) > 2, "in [-2, 2]"))
                .or(() -> out(
                        values,
                        "repetition_penalty",
                        value -> !(value > 0 && value <= 2),
                        "in (0, 2] (1.0 = no penalty)"))
                .or(() -> lengths(values, least, most))
                .or(() -> bias(values, vocabulary))
                .or(() -> values.get(seed)
                        .filter(Json.Big.class::isInstance)
                        .map(value -> "sampling_seed must be in [-2**63, 2**63 - 1], got " + value.repr() + "."));
    }

    private interface Range {
        boolean excludes(double value);
    }

    private static Optional<String> out(Values values, String name, Range range, String wanted) {
        return values.number(name)
                .filter(range::excludes)
                .flatMap(_ -> values.get(name))
                .map(value -> name + " must be " + wanted + ", got " + value.repr() + ".");
    }

    /** Greedy sampling does not look at it. */
    private static Optional<String> topK(Values values) {
        long topK = values.whole("top_k").orElse(-1);
        boolean greedy = values.number("temperature").orElse(1.0) < 1e-6;
        return topK < 1 && topK != -1 && !greedy
                ? Optional.of("top_k must be -1 (disable) or at least 1, got " + topK + ".")
                : Optional.empty();
    }

    private static Optional<String> lengths(Values values, String least, OptionalLong most) {
        long fewest = values.whole(least).orElse(0);
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

    private static Optional<String> bias(Values values, int vocabulary) {
        return values.object("logit_bias")
                .flatMap(bias -> bias.body().fields().keySet().stream()
                        .map(key -> {
                            if (!key.strip().matches("[+-]?\\d{1,18}")) {
                                return "invalid literal for int() with base 10: " + Python.repr(key);
                            }
                            long token = Long.parseLong(key.strip());
                            return token < 0 || token >= vocabulary
                                    ? "logit_bias must has keys in [0, " + (vocabulary - 1) + "], got " + token + "."
                                    : "";
                        })
                        .filter(problem -> !problem.isEmpty())
                        .findFirst());
    }
}
