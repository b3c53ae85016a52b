package io.holdfast.workbench.matrix;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * One leg of a matrix of cache states, as its id says it: {@code b2/warm/streaming/1024tok/pass1}.
 *
 * @param batch requests that are sent together
 * @param streaming whether answers come token by token
 * @param context tokens of each prompt
 * @param pass from 1
 */
public record MatrixLeg(int batch, CacheState state, boolean streaming, int context, int pass) {
    private static final Pattern ID =
            Pattern.compile("b(\\d+)/(cold|warm|hot)/(streaming|non-streaming)/(\\d+)tok/pass(\\d+)");

    /** The leg of an id; absent where it is another one's. */
    static Optional<MatrixLeg> of(String id) {
        Matcher parts = ID.matcher(id);
        return parts.matches()
                ? CacheState.named(parts.group(2))
                        .map(state -> new MatrixLeg(
                                Integer.parseInt(parts.group(1)),
                                state,
                                parts.group(3).equals("streaming"),
                                Integer.parseInt(parts.group(4)),
                                Integer.parseInt(parts.group(5))))
                : Optional.empty();
    }

    String id() {
        return configuration() + "/pass" + pass;
    }

    /** All but the pass. */
    String configuration() {
        return "b" + batch + "/" + state.word() + "/" + way() + "/" + context + "tok";
    }

    String way() {
        return streaming ? "streaming" : "non-streaming";
    }
}
