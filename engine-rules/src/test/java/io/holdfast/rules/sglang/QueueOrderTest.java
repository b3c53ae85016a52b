package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Policy;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Who of the waiting goes first, one at a time. */
class QueueOrderTest {
    private final List<String> served = new ArrayList<>();

    private static TestEngine engine(Policy policy) {
        return new TestEngine(SglangSettings.defaults().withMaxRunning(1).withPolicy(policy), Faults.none());
    }

    private void submit(TestEngine engine, String name, int[] prompt) {
        Heard listener = new Heard() {
            @Override
            public void token(int token, int count, int cached, boolean last) {
                super.token(token, count, cached, last);
                served.add(name + " " + cached);
            }
        };
        engine.engine.submit(new Generation(prompt, RequestOptions.of(1), false, 0, listener));
    }

    private static int[] and(int[] prefix, int[] tail) {
        return IntStream.concat(Arrays.stream(prefix), Arrays.stream(tail)).toArray();
    }

    @Test
    void fcfs_asTheyCame() {
        TestEngine engine = engine(Policy.FCFS);
        int[] cached = engine.fresh(128);
        engine.cached(cached);
        submit(engine, "cold", engine.fresh(64));
        submit(engine, "warm", and(cached, engine.fresh(5)));
        engine.runDry();
        assertThat(served).containsExactly("cold 0", "warm 128");
    }

    @Test
    void lpm_longestCachedPrefixFirst_amongEqualsAsTheyCame() {
        TestEngine engine = engine(Policy.LPM);
        int[] cached = engine.fresh(128);
        engine.cached(cached);
        submit(engine, "cold", engine.fresh(64));
        submit(engine, "another", engine.fresh(64));
        submit(engine, "half", and(Arrays.copyOf(cached, 64), engine.fresh(5)));
        submit(engine, "warm", and(cached, engine.fresh(5)));
        engine.runDry();
        assertThat(served).containsExactly("warm 128", "half 64", "cold 0", "another 0");
    }

    @Test
    void lpm_promptsThatBeginAlike_followTheOneThatBringsThePrefix() {
        TestEngine engine = engine(Policy.LPM);
        int[] shared = engine.fresh(64);
        submit(engine, "first", and(shared, engine.fresh(8)));
        submit(engine, "second", and(shared, engine.fresh(8)));
        submit(engine, "third", and(shared, engine.fresh(8)));
        submit(engine, "other", engine.fresh(64));
        engine.engine.step();
        engine.engine.step();
        assertThat(served)
                .as("what the first stored is found by the others from the next pass on")
                .containsExactly("first 0", "second 64");
        engine.runDry();
        assertThat(served).containsExactly("first 0", "second 64", "third 64", "other 0");
    }

    @Test
    void lpm_shortSharedBeginnings_doNotMatter() {
        TestEngine engine = engine(Policy.LPM);
        int[] shared = engine.fresh(31);
        submit(engine, "first", and(shared, engine.fresh(8)));
        submit(engine, "second", and(shared, engine.fresh(8)));
        submit(engine, "other", engine.fresh(64));
        engine.runDry();
        assertThat(served).containsExactly("first 0", "second 16", "other 0");
    }

    @Test
    void lpm_withALongQueue_isFcfs() {
        TestEngine engine = engine(Policy.LPM);
        int[] cached = engine.fresh(128);
        engine.cached(cached);
        for (int i = 0; i < 129; i++) {
            submit(engine, "cold", engine.fresh(8));
        }
        submit(engine, "warm", and(cached, engine.fresh(5)));
        engine.engine.step();
        engine.engine.step();
        engine.engine.step();
        assertThat(served).as("130, 129, and then 128 wait").containsExactly("cold 0", "cold 0", "warm 128");
    }

    /** One prefix is older than another, and a large request needs the room of one of them; nobody asks for either yet. */
    private void serveALargeOneBefore(int[] wanted, TestEngine engine, int looks) {
        int[] newer = engine.fresh(128);
        engine.cached(wanted);
        engine.cached(newer);
        for (int look = 2; look < looks; look++) {
            engine.cached(engine.fresh(1));
        }
        submit(engine, "large", engine.fresh(480));
        submit(engine, "refused", engine.fresh(130));
        submit(engine, "waits", and(wanted, engine.fresh(5)));
        engine.runDry();
    }

    @Test
    void waitingPrefixes_areTouchedAtEach32ndLook_andOutliveOthers() {
        TestEngine engine = new TestEngine(SglangSettings.defaults().withSizes(640, 16, 8192), Faults.none());
        serveALargeOneBefore(engine.fresh(128), engine, 32);
        assertThat(served).containsExactly("large 0", "refused 0", "waits 128");
    }

    @Test
    void waitingPrefixes_areNotTouchedAtOthers() {
        TestEngine engine = new TestEngine(SglangSettings.defaults().withSizes(640, 16, 8192), Faults.none());
        serveALargeOneBefore(engine.fresh(128), engine, 31);
        assertThat(served).containsExactly("large 0", "refused 0", "waits 0");
    }
}
