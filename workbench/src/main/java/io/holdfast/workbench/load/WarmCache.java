package io.holdfast.workbench.load;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.load.DrawnLoad.Drawn;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The check whether a leg found more in the server's cache than it had put there itself: what a request has in common
 * with an earlier one of the leg is the most that it can find.
 *
 * <p>Sums are held against each other and not single requests, since of two that are under way together either may be
 * the one that computes what both have. Where the server counts other tokens than we, as it does of text, the common
 * part is taken for the same share of its count, and a tenth and 64 tokens a request are given for what a tokenizer and
 * a template may do.
 */
final class WarmCache {
    private static final double TENTH_MORE = 1.1;
    private static final int TEMPLATE = 64;

    private WarmCache() {}

    /** @param asSent all requests of the load, in the order in which they were sent */
    static Optional<String> of(List<Drawn> parts, List<LoadRequest> asSent, LoadLeg leg) {
        int[] most = most(asSent);
        double possible = 0;
        long found = 0;
        for (Drawn part : parts) {
            if (part.part().measured()) {
                for (RequestRecord record : leg.of(part.part().name())) {
                    if (record.isOk()
                            && record.cachedTokens().isPresent()
                            && record.promptTokens().isPresent()) {
                        int prompt = record.promptTokens().getAsInt();
                        int length = asSent.get(record.number()).length();
                        found += record.cachedTokens().getAsInt();
                        possible += prompt == length
                                ? most[record.number()]
                                : TENTH_MORE * most[record.number()] * prompt / Math.max(1, length) + TEMPLATE;
                    }
                }
            }
        }
        return found <= possible
                ? Optional.empty()
                : Optional.of(String.format(
                        Locale.ROOT,
                        "The cache was warm: %,d tokens of prompts were found in it, and what the requests have in"
                                + " common with earlier ones of this leg is at most %,.0f; the figures are those of a"
                                + " cache that somebody else filled.",
                        found,
                        possible));
    }

    /** Returns for each request the length of the longest beginning that it shares with an earlier one. */
    private static int[] most(List<LoadRequest> asSent) {
        TreeSet<int[]> earlier = new TreeSet<>(Arrays::compare);
        int[] most = new int[asSent.size()];
        for (int i = 0; i < most.length; i++) {
            int[] tokens = asSent.get(i).tokens();
            // In the order of their tokens the most alike is a neighbour.
            for (int[] near : near(earlier, tokens)) {
                int mismatch = Arrays.mismatch(tokens, near);
                most[i] = Math.max(most[i], mismatch < 0 ? tokens.length : mismatch);
            }
            earlier.add(tokens);
        }
        return most;
    }

    private static List<int[]> near(NavigableSet<int[]> earlier, int[] tokens) {
        List<int[]> near = new ArrayList<>();
        Stream.ofNullable(earlier.floor(tokens)).forEach(near::add);
        Stream.ofNullable(earlier.ceiling(tokens)).forEach(near::add);
        return near;
    }
}
