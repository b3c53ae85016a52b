package io.holdfast.benchmarks.index;

import java.util.ArrayList;
import java.util.List;

/*
 * Which answers of a reader beside a writer were those of no moment.
 *
 * Span. The writer publishes after each event how many it has applied. A reader takes that number before it asks and
 * after it was answered. Its answer must be what the index says after some number of events in [before, after + 1]; the
 * one more is an event that was applied already and not yet published. Several events can pass while a reader is off
 * its processor.
 *
 * Replay. Afterwards a fresh index on one thread applies the same events one by one, and is asked the same query at
 * each of these moments until it gives the same answer. Most answers are the first one's.
 */

/** Answers that a reader wrote down, to be held against every moment that they can be of. */
final class TornAnswers {
    private record Sample(int query, long before, long after, long answer) {}

    private final List<Sample> samples;
    private final int most;

    /** Keeps the first of them. */
    TornAnswers(int most) {
        this.most = most;
        samples = new ArrayList<>(most);
    }

    /** An answer in one number; the order of its engines does not count. */
    static long answer(Index.Reader reader, int count) {
        long answer = 0;
        for (int i = 0; i < count; i++) {
            if (reader.depth(i) > 0) {
                answer += Mix.of(((long) reader.engine(i) << Integer.SIZE) + reader.depth(i));
            }
        }
        return answer;
    }

    /**
     * Takes an answer down, with the numbers of events that were published before and after; in the order of asking.
     */
    void sample(int query, long before, long after, long answer) {
        if (samples.size() < most) {
            samples.add(new Sample(query, before, after + 1, answer));
        }
    }

    int size() {
        return samples.size();
    }

    /** Counts torn answers, by an index of its own to which the first events were applied. */
    int torn(Index index, Events events, int appliedAlready, Queries queries) {
        Index.Reader reader = index.reader();
        List<Sample> open = new ArrayList<>();
        int torn = 0;
        int next = 0;
        for (int applied = appliedAlready; applied <= events.count(); applied++) {
            if (applied > appliedAlready) {
                index.apply(events, applied - 1);
            }
            while (next < samples.size() && samples.get(next).before() <= applied) {
                open.add(samples.get(next++));
            }
            for (int i = open.size() - 1; i >= 0; i--) {
                Sample sample = open.get(i);
                boolean equal = answer(reader, reader.match(queries, sample.query())) == sample.answer();
                if (equal || sample.after() <= applied) {
                    torn += equal ? 0 : 1;
                    open.remove(i);
                }
            }
        }
        return torn + open.size();
    }
}
