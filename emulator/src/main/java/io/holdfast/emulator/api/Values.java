package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;

/** A body whose fields have been found to be what they should, for reading; null is the same as absent. */
record Values(Json.Obj body) {
    Optional<Json> get(String field) {
        return body.get(field).filter(value -> value != Json.Null.NULL);
    }

    boolean has(String field) {
        return get(field).isPresent();
    }

    boolean flag(String field) {
        return get(field).filter(value -> value == Json.Bool.TRUE).isPresent();
    }

    /** Numbers beyond 64 bits are the largest there are. */
    OptionalLong whole(String field) {
        return get(field)
                .map(value -> switch (value) {
                    case Json.Int(long whole) -> OptionalLong.of(whole);
                    case Json.Big big -> OptionalLong.of(big.value().signum() > 0 ? Long.MAX_VALUE : Long.MIN_VALUE);
                    default -> OptionalLong.empty();
                })
                .orElse(OptionalLong.empty());
    }

    Optional<Double> number(String field) {
        return get(field).flatMap(value -> switch (value) {
            case Json.Real(double real) -> Optional.of(real);
            case Json.Int(long whole) -> Optional.of((double) whole);
            default -> Optional.empty();
        });
    }

    Optional<String> text(String field) {
        return get(field)
                .flatMap(value -> value instanceof Json.Str(String text) ? Optional.of(text) : Optional.empty());
    }

    /** A text, or the texts of a list. */
    List<String> texts(String field) {
        return get(field).map(Values::textsOf).orElse(List.of());
    }

    private static List<String> textsOf(Json value) {
        return switch (value) {
            case Json.Str(String text) -> List.of(text);
            case Json.Arr(List<Json> items) -> {
                List<String> texts = new ArrayList<>();
                for (Json item : items) {
                    if (item instanceof Json.Str(String text)) {
                        texts.add(text);
                    }
                }
                yield texts;
            }
            default -> List.of();
        };
    }

    Set<Integer> tokens(String field) {
        Set<Integer> tokens = new TreeSet<>();
        if (get(field).orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> items)) {
            for (Json item : items) {
                if (item instanceof Json.Int(long token) && token == (int) token) {
                    tokens.add((int) token);
                }
            }
        }
        return tokens;
    }

    Optional<Values> object(String field) {
        return get(field)
                .flatMap(
                        value -> value instanceof Json.Obj object ? Optional.of(new Values(object)) : Optional.empty());
    }

    /** The output tokens that a client sets to compare two engines; what is no list of tokens sets none. */
    List<Integer> forced() {
        List<Integer> forced = new ArrayList<>();
        if (get("_force_output_ids").orElse(Json.Null.NULL) instanceof Json.Arr(List<Json> items)) {
            for (Json item : items) {
                if (item instanceof Json.Int(long token) && token >= 0 && token == (int) token) {
                    forced.add((int) token);
                }
            }
        }
        return forced;
    }

    int priority() {
        return Math.clamp(whole("priority").orElse(0), Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    OptionalInt small(String field) {
        OptionalLong value = whole(field);
        return value.isPresent()
                ? OptionalInt.of(Math.clamp(value.getAsLong(), Integer.MIN_VALUE, Integer.MAX_VALUE))
                : OptionalInt.empty();
    }
}
