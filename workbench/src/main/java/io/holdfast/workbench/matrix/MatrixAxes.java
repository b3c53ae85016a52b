package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.LoadTestException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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
    /** Six lengths of one request at a time and five of two together. */
    private static final List<String> USUAL = List.of("1=512,1024,2048,4096,8192,16384", "2=1024,2048,4096,8192,16384");

    private static final Pattern CONTEXT = Pattern.compile("(\\d{1,4})=(\\d{1,7}(?:,\\d{1,7})*)");
    private static final String STREAMING = "streaming";
    private static final String WHOLE = "non-streaming";
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

    /** Returns the lengths of {@link #USUAL}; three passes, answers of 64 tokens, two users at 4,096. */
    public static MatrixAxes usual() {
        return of(List.of(), List.of("cold", "warm", "hot"), List.of(STREAMING, WHOLE), 3, 64, List.of(4_096));
    }

    /**
     * Reads the dimensions as people write them.
     *
     * @param contexts as {@code 2=1024,2048}: tokens of prompts that are sent two at a time; the usual ones where none
     *     is given
     * @param ways {@code streaming} and {@code non-streaming}
     */
    public static MatrixAxes of(
            List<String> contexts,
            List<String> states,
            List<String> ways,
            int passes,
            int answer,
            List<Integer> staggered) {
        Map<Integer, List<Integer>> lengths = new LinkedHashMap<>();
        for (String each : contexts.isEmpty() ? USUAL : contexts) {
            Matcher context = CONTEXT.matcher(each);
            if (!context.matches()) {
                throw new LoadTestException("--contexts has '" + each
                        + "'; write a batch size and whole numbers with commas, as 1024,2048 after 2=.");
            }
            lengths.put(
                    Integer.valueOf(context.group(1)),
                    Stream.of(context.group(2).split(",", -1))
                            .map(Integer::valueOf)
                            .toList());
        }
        return new MatrixAxes(
                lengths,
                states.stream().map(MatrixAxes::state).toList(),
                ways.stream().map(MatrixAxes::isStreaming).toList(),
                passes,
                answer,
                staggered);
    }

    private static CacheState state(String word) {
        return CacheState.named(word.toLowerCase(Locale.ROOT))
                .orElseThrow(() -> new LoadTestException("--states has '" + word + "'; there are cold, warm and hot."));
    }

    private static boolean isStreaming(String way) {
        if (!way.equals(STREAMING) && !way.equals(WHOLE)) {
            throw new LoadTestException("--ways has '" + way + "'; there are " + STREAMING + " and " + WHOLE + ".");
        }
        return way.equals(STREAMING);
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
