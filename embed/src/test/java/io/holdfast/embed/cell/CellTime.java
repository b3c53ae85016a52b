package io.holdfast.embed.cell;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** Virtual time, in which several members live, each by a clock of its own. */
final class CellTime {
    static final Cell CELL = new Cell("model", 16, "");
    static final long SECOND = 1_000_000_000L;

    /** One member, with what it says. */
    static final class Life {
        final CellMember member;
        final long offset;
        Hot hot = Hot.NOTHING;
        List<HeldCopy> copies = List.of();
        boolean polled = true;

        Life(CellTime time, FleetStore store, String engine, long offset, long seed) {
            this.offset = offset;
            Supplier<Hot> saidHot = () -> hot;
            this.member = new CellMember(
                    store,
                    CELL,
                    engine,
                    "http://" + engine + ":1",
                    () -> time.now + offset,
                    new SplittableRandom(seed),
                    saidHot,
                    () -> copies);
        }
    }

    long now;
    final MapStore store = new MapStore(() -> now);
    final Map<String, Life> lives = new TreeMap<>();
    private final RandomGenerator random;

    CellTime(long seed) {
        random = new SplittableRandom(seed);
    }

    Life start(String engine) {
        return start(engine, store);
    }

    /** Starts a member whose clock has an origin of its own, which may make it overflow. */
    Life start(String engine, FleetStore at) {
        Life life = new Life(this, at, engine, random.nextLong(), random.nextLong());
        lives.put(engine, life);
        return life;
    }

    void seconds(int count) {
        seconds(count, () -> {});
    }

    /** Goes on for so long, with work to be done after each second's polls. */
    void seconds(int count, Runnable each) {
        for (int i = 0; i < count; i++) {
            now += SECOND;
            for (Life life : new ArrayList<>(lives.values())) {
                if (life.polled) {
                    life.member.poll(now + life.offset);
                }
            }
            each.run();
        }
    }

    static Hot hot(HotEnd... ends) {
        return new Hot(OptionalDouble.of(60), OptionalLong.of(100_000), List.of(ends));
    }

    static HotEnd end(long name, double touches, boolean resident, boolean held) {
        return new HotEnd(name, 640, (float) touches, resident, held);
    }

    static List<String> ids(CellView view) {
        return view.engines().stream().map(CellEngine::id).toList();
    }
}
