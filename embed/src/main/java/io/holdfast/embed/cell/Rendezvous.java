package io.holdfast.embed.cell;

import io.holdfast.core.hash.ContentNames;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Choice among engines that all who know the same engines make alike: each engine has a weight for each name, and the
 * heaviest are chosen. So an engine that comes or goes moves its own names only.
 */
public final class Rendezvous {
    private final List<String> engines;
    private final long[] numbers;

    /** Chooses among these engines. */
    public Rendezvous(Collection<String> engines) {
        this.engines = engines.stream().distinct().sorted().toList();
        this.numbers = this.engines.stream().mapToLong(ContentNames::extra).toArray();
    }

    /** Returns so many engines for a name, the first choice first; all where there are no more. */
    public List<String> top(long name, int most) {
        return IntStream.range(0, numbers.length)
                .boxed()
                .sorted((a, b) -> before(a, b, name) ? -1 : before(b, a, name) ? 1 : 0)
                .limit(most)
                .map(engines::get)
                .toList();
    }

    /** Returns true if an engine is among so many for a name. */
    public boolean chooses(String engine, long name, int most) {
        int at = Collections.binarySearch(engines, engine);
        if (at < 0 || most >= numbers.length) {
            return at >= 0;
        }
        int before = 0;
        for (int other = 0; other < numbers.length && before < most; other++) {
            before += before(other, at, name) ? 1 : 0;
        }
        return before < most;
    }

    /** Returns the first choice for a name among some of the engines; absent where none of them is one. */
    public Optional<String> first(Collection<String> some, long name) {
        int first = -1;
        for (String engine : some) {
            int at = Collections.binarySearch(engines, engine);
            if (at >= 0 && (first < 0 || before(at, first, name))) {
                first = at;
            }
        }
        return first < 0 ? Optional.empty() : Optional.of(engines.get(first));
    }

    private boolean before(int a, int b, long name) {
        int compared = Long.compare(ContentNames.next(numbers[a], name), ContentNames.next(numbers[b], name));
        return compared == 0 ? a < b : compared > 0;
    }
}
