package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.Arrays;

/**
 * When the output of one request came, chunk by chunk, as a text that is short enough to keep for every request.
 *
 * <p>A number for each chunk with output, with a space between: the microseconds since the chunk before, and 0 for the
 * first, whose own stamp stands beside. Each is the difference of two rounded times and not the rounded difference, so
 * nothing adds up. A chunk that the engine counted as other than one token has that count behind a star, as in
 * {@code 0 9876 10021*3}.
 *
 * @param text empty where nothing is known
 */
public record TokenStamps(@JsonValue String text) {
    private static final double MICROS_OF_A_MILLI = 1_000;

    @JsonCreator
    public TokenStamps {
        for (int i = 0; i < text.length(); i++) {
            if ("0123456789* ".indexOf(text.charAt(i)) < 0) {
                throw new IllegalArgumentException("No stamps of tokens: " + text + ".");
            }
        }
    }

    public static TokenStamps none() {
        return new TokenStamps("");
    }

    /**
     * Puts stamps into their text.
     *
     * @param stamps nanoseconds, from the first chunk with output on, in their order
     * @param tokens how many each brought
     */
    public static TokenStamps of(long[] stamps, int[] tokens, int chunks) {
        StringBuilder text = new StringBuilder(6 * chunks);
        long before = 0;
        for (int i = 0; i < chunks; i++) {
            long micros = Math.round((stamps[i] - stamps[0]) / 1e3);
            text.append(i == 0 ? "" : " ").append(micros - before);
            before = micros;
            if (tokens[i] != 1) {
                text.append('*').append(tokens[i]);
            }
        }
        return new TokenStamps(text.toString());
    }

    private String[] chunks() {
        return text.isEmpty() ? new String[0] : text.split(" ");
    }

    /** Returns the number of tokens that each chunk brought. */
    public int[] tokens() {
        return Arrays.stream(chunks())
                .mapToInt(chunk -> {
                    int star = chunk.indexOf('*');
                    return star < 0 ? 1 : Integer.parseInt(chunk.substring(star + 1));
                })
                .toArray();
    }

    /** Milliseconds between chunks, one fewer than there are chunks. */
    public double[] gapsMillis() {
        return Arrays.stream(chunks())
                .skip(1)
                .mapToDouble(chunk -> {
                    int star = chunk.indexOf('*');
                    return Long.parseLong(star < 0 ? chunk : chunk.substring(0, star)) / MICROS_OF_A_MILLI;
                })
                .toArray();
    }

    /** Returns, for each token after the first chunk, its share of the gap before its chunk, in milliseconds. */
    public double[] perTokenMillis() {
        double[] gaps = gapsMillis();
        int[] tokens = tokens();
        double[] shares = new double[Arrays.stream(tokens).skip(1).sum()];
        int next = 0;
        for (int i = 0; i < gaps.length; i++) {
            Arrays.fill(shares, next, next + tokens[i + 1], gaps[i] / tokens[i + 1]);
            next += tokens[i + 1];
        }
        return shares;
    }
}
