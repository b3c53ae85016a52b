package io.holdfast.embed.cell;

import io.holdfast.core.hash.ContentNames;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/**
 * Choice of engines for a name that all make alike: each engine has a weight for each name, and the heaviest are taken.
 * So one that comes or goes moves its own names only.
 */
public final class Rendezvous {
    private Rendezvous() {}

    /** Returns so many engines for a name, the first choice first; all where there are no more. */
    public static List<String> top(Collection<String> engines, long name, int most) {
        record Weighed(String engine, long weight) {}
        return engines.stream()
                .distinct()
                .map(engine -> new Weighed(engine, weight(engine, name)))
                .sorted(Comparator.comparingLong(Weighed::weight).reversed().thenComparing(Weighed::engine))
                .limit(most)
                .map(Weighed::engine)
                .toList();
    }

    static long weight(String engine, long name) {
        return ContentNames.next(ContentNames.extra(engine), name);
    }
}
