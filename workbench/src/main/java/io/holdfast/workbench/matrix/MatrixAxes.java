package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.LoadTestException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Dimensions of a matrix of cache states.
 *
 * @param contexts tokens of prompts, by how many of them are sent together
 * @param ways whether answers come token by token, or also as a whole
 * @param passes how often each configuration runs
 * @param answer tokens of each answer
 * @param staggered tokens of prompts of two users, one after the other and together; none where they are left out
 */
public record MatrixAxes(
        Map<Integer, List<Integer>> contexts,
        List<CacheState> states,
        List<Boolean> ways,
        int passes,
        int answer,
        List<Integer> staggered) {
    private static final int MOST = 100_000;

    public MatrixAxes {
        Map<Integer, List<Integer>> copy = new TreeMap<>();
        contexts.forEach((batch, lengths) -> copy.put(batch, distinct(lengths)));
        contexts = Collections.unmodifiableMap(copy);
        states = distinct(states);
        ways = distinct(ways);
        staggered = distinct(staggered);
        if (contexts.isEmpty() || states.isEmpty() || ways.isEmpty()) {
            throw new LoadTestException("A matrix has a batch size, a cache state and a way of answering at least.");
        }
        contexts.forEach((batch, lengths) -> {
            between("A batch size", batch, 1, 4_096);
            lengths.forEach(length -> between("A context", length, 32, 2_000_000));
        });
        staggered.forEach(length -> between("A context", length, 32, 2_000_000));
        between("The number of passes", passes, 1, 1_000);
        between("The length of an answer", answer, 1, MOST);
    }

    /**
     * Returns six lengths of one request at a time and five of two together; three passes, answers of 64 tokens, two
     * users at 4,096.
     */
    public static MatrixAxes usual() {
        Map<Integer, List<Integer>> contexts = new LinkedHashMap<>();
        contexts.put(1, List.of(512, 1_024, 2_048, 4_096, 8_192, 16_384));
        contexts.put(2, List.of(1_024, 2_048, 4_096, 8_192, 16_384));
        return new MatrixAxes(contexts, List.of(CacheState.values()), List.of(true, false), 3, 64, List.of(4_096));
    }

    /** Leaves out prompts of more tokens; none of them where nothing would be left. */
    public MatrixAxes upTo(long tokens) {
        Map<Integer, List<Integer>> shorter = new LinkedHashMap<>();
        contexts.forEach((batch, lengths) -> {
            List<Integer> fitting =
                    lengths.stream().filter(length -> length <= tokens).toList();
            if (!fitting.isEmpty()) {
                shorter.put(batch, fitting);
            }
        });
        return shorter.isEmpty()
                ? this
                : new MatrixAxes(
                        shorter,
                        states,
                        ways,
                        passes,
                        answer,
                        staggered.stream().filter(length -> length <= tokens).toList());
    }

    /** Returns the legs in the order in which they run. */
    List<MatrixLeg> legs() {
        List<MatrixLeg> legs = new ArrayList<>();
        contexts.forEach((batch, lengths) -> {
            for (CacheState state : states) {
                for (boolean streaming : ways) {
                    for (int length : lengths) {
                        for (int pass = 1; pass <= passes; pass++) {
                            legs.add(new MatrixLeg(batch, state, streaming, length, pass));
                        }
                    }
                }
            }
        });
        return legs;
    }

    int staggeredLegs() {
        return Staggered.Mode.values().length * staggered.size() * passes;
    }

    /** Returns the number of legs and their kinds, for people. */
    public String text() {
        StringBuilder text = new StringBuilder();
        List<Integer> counts = new ArrayList<>();
        contexts.forEach((batch, lengths) -> {
            int legs = states.size() * ways.size() * lengths.size() * passes;
            counts.add(legs);
            text.append("batch ").append(batch).append(": ");
            text.append(times(states.size(), "state")).append(" x ").append(times(ways.size(), "way"));
            text.append(" x ").append(times(lengths.size(), "length"));
            text.append(" x ").append(passes == 1 ? "1 pass" : passes + " passes");
            text.append(" = ").append(legs).append('\n');
        });
        if (!staggered.isEmpty()) {
            counts.add(staggeredLegs());
            text.append("two users: 2 modes x ").append(times(staggered.size(), "length"));
            text.append(" x ").append(passes == 1 ? "1 pass" : passes + " passes");
            text.append(" = ").append(staggeredLegs()).append('\n');
        }
        return text + total(counts) + " legs";
    }

    /** Returns a sum such as 108 + 90 + 6 = 204. */
    static String total(List<Integer> parts) {
        String sum = Integer.toString(parts.stream().mapToInt(Integer::intValue).sum());
        return parts.size() == 1
                ? sum
                : parts.stream().map(part -> Integer.toString(part)).collect(Collectors.joining(" + ")) + " = " + sum;
    }

    private static String times(int count, String what) {
        return count + " " + what + (count == 1 ? "" : "s");
    }

    private static <T> List<T> distinct(List<T> values) {
        return List.copyOf(new LinkedHashSet<>(values));
    }

    private static void between(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new LoadTestException(what + " is " + value + "; write " + least + " to " + most + ".");
        }
    }
}
