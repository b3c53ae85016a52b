package io.holdfast.sidecar.config;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the word that somebody meant who wrote another one. */
final class Nearest {
    private Nearest() {}

    /** Returns the advice for a word that is none of these. */
    static String mend(String written, Collection<String> known) {
        return to(written, known)
                .map(near -> "did you mean " + near + "?")
                .orElse("write " + String.join(" or ", known));
    }

    /** Returns the known word that differs least; absent where all differ too much. */
    static Optional<String> to(String written, Collection<String> known) {
        return known.stream()
                .filter(key -> distance(written, key) <= Math.clamp(key.length() / 3, 1, 3))
                .min(Comparator.comparingInt(key -> distance(written, key)));
    }

    /** Returns the number of edits, a swap of neighbours being one of them; letters are compared without case. */
    private static int distance(String from, String to) {
        String a = from.toLowerCase(Locale.ROOT);
        String b = to.toLowerCase(Locale.ROOT);
        if (Math.abs(a.length() - b.length()) > 3) {
            return Integer.MAX_VALUE;
        }
        int[][] edits = new int[a.length() + 1][b.length() + 1];
        for (int i = 0; i <= a.length(); i++) {
            for (int j = 0; j <= b.length(); j++) {
                if (i == 0 || j == 0) {
                    edits[i][j] = i + j;
                    continue;
                }
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                edits[i][j] = Math.min(Math.min(edits[i - 1][j], edits[i][j - 1]) + 1, edits[i - 1][j - 1] + change);
                boolean swapped =
                        i > 1 && j > 1 && a.charAt(i - 1) == b.charAt(j - 2) && a.charAt(i - 2) == b.charAt(j - 1);
                if (swapped) {
                    edits[i][j] = Math.min(edits[i][j], edits[i - 2][j - 2] + 1);
                }
            }
        }
        return edits[a.length()][b.length()];
    }
}
