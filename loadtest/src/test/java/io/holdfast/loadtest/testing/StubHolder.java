package io.holdfast.loadtest.testing;

import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.run.Holder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Holds in a {@link StubEngine} and remembers what it was asked for, in order. */
public class StubHolder implements Holder {
    private final StubEngine engine;
    public final List<String> calls = new ArrayList<>();

    public StubHolder(StubEngine engine) {
        this.engine = engine;
    }

    @Override
    public String name() {
        return "stub";
    }

    @Override
    public void check() {
        calls.add("check");
    }

    @Override
    public FlushReceipt follow(Flush flush) {
        calls.add("follow");
        return new FlushReceipt("1", 1, flush.flush());
    }

    @Override
    public HoldReceipt hold(int[] prefix, Duration within) {
        calls.add("hold " + prefix.length);
        engine.held = true;
        return HoldReceipt.held("1", 4, 4, prefix.length, "held");
    }

    @Override
    public ReleaseReceipt release(HoldReceipt hold) {
        calls.add("release " + hold.id());
        boolean stood = engine.held;
        engine.held = false;
        return stood ? ReleaseReceipt.released("done") : ReleaseReceipt.lost("gone");
    }

    @Override
    public HoldReceipt sham() {
        calls.add("sham");
        return HoldReceipt.sham("seen");
    }

    @Override
    public ReleaseReceipt shamRelease() {
        calls.add("sham release");
        return ReleaseReceipt.sham("seen");
    }
}
