package io.holdfast.benchmarks.index;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An answer passes if, and only if, the index gave it at a moment that it can be of. */
class TornAnswersTest {
    private static final int ROOM = 100;

    @TempDir
    private Path folder = Path.of("");

    private Path file = Path.of("");
    private Events events = new Events(1, 0, 0);
    private int middle;

    /** The answer to the query after each number of events. */
    private long[] truth = {};

    private int query;
    private int change;

    @BeforeEach
    void findsAQueryWhoseAnswerChanges() throws IOException {
        file = Workloads.ONE_ENGINE.in(folder);
        events = events();
        middle = events.count() / 2;
        for (query = 0; query < queries().count() && change == 0; query++) {
            truth = truth(query);
            for (int i = middle + 2; i < truth.length - 2; i++) {
                if (truth[i] != truth[i - 1] && truth[i] != truth[i - 2]) {
                    change = i;
                }
            }
        }
        query--;
        assertThat(change).as("a change in the second half").isPositive();
    }

    @Test
    void answerOfAMomentInItsSpan_isWhole() {
        assertThat(torn(change - 1, change, truth[change - 1])).isZero();
        assertThat(torn(change - 1, change, truth[change])).isZero();
        assertThat(torn(change, change, truth[change])).isZero();
        assertThat(torn(middle, events.count(), truth[change])).isZero();
    }

    @Test
    void answerOfAnEventThatWasNotPublishedYet_isWhole() {
        assertThat(torn(change - 1, change - 1, truth[change])).isZero();
    }

    @Test
    void answerOfAMomentBeforeItsSpan_isTorn() {
        assertThat(torn(change, change, truth[change - 1])).isOne();
    }

    @Test
    void answerOfAMomentAfterItsSpan_isTorn() {
        assertThat(torn(change - 2, change - 2, truth[change])).isOne();
    }

    @Test
    void answerOfNoMoment_isTorn() {
        assertThat(torn(middle, events.count(), -1)).isOne();
    }

    @Test
    void answersOneByOne_areCountedOneByOne() {
        TornAnswers answers = new TornAnswers(ROOM);
        answers.sample(query, change - 1, change, truth[change]);
        answers.sample(query, change - 1, change, -1);
        answers.sample(query, change, change, truth[change]);
        answers.sample(query, change, change, truth[change - 1]);

        assertThat(answers.torn(half(), events, middle, queries())).isEqualTo(2);
    }

    @Test
    void mixed_readerOfAnotherIndexThanIsReplayed_isCaught() {
        AtomicInteger made = new AtomicInteger();

        Figures figures = new MixedBench(engines -> {
                    // Each round makes one index for the writer alone, one for both, one for the replay.
                    boolean both = made.getAndIncrement() % 3 == 1;
                    return both ? new Boasting(engines) : new NaiveIndex(engines);
                })
                .run(file, ROOM);

        assertThat(figures.isZero("torn")).isFalse();
        assertThat(made).hasValue(9);
    }

    private int torn(long before, long after, long answer) {
        TornAnswers answers = new TornAnswers(ROOM);
        answers.sample(query, before, after, answer);
        return answers.torn(half(), events, middle, queries());
    }

    private Index half() {
        NaiveIndex index = new NaiveIndex(1);
        index.apply(events, 0, middle);
        return index;
    }

    private long[] truth(int asked) {
        NaiveIndex index = new NaiveIndex(1);
        Index.Reader reader = index.reader();
        Queries queries = queries();
        long[] answers = new long[events.count() + 1];
        for (int i = 0; i <= events.count(); i++) {
            answers[i] = TornAnswers.answer(reader, reader.match(queries, asked));
            if (i < events.count()) {
                index.apply(events, i);
            }
        }
        return answers;
    }

    private Events events() {
        try (WorkloadFile opened = WorkloadFile.open(file)) {
            return Events.of(opened);
        }
    }

    private Queries queries() {
        try (WorkloadFile opened = WorkloadFile.open(file)) {
            return Queries.of(opened, ROOM);
        }
    }

    /** Claims in each answer an engine that does not exist. */
    private static final class Boasting implements Index {
        private final NaiveIndex index;

        Boasting(int engines) {
            index = new NaiveIndex(engines);
        }

        @Override
        public void apply(Events events, int event) {
            index.apply(events, event);
        }

        @Override
        public long errors() {
            return index.errors();
        }

        @Override
        public Reader reader() {
            Reader honest = index.reader();
            return new Reader() {
                private int count;

                @Override
                public int match(long[] names, int from, int blocks) {
                    count = honest.match(names, from, blocks);
                    return count + 1;
                }

                @Override
                public int engine(int i) {
                    return i < count ? honest.engine(i) : Character.MAX_VALUE;
                }

                @Override
                public int depth(int i) {
                    return i < count ? honest.depth(i) : 1;
                }
            };
        }
    }
}
