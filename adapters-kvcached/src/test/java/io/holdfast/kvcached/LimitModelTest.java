package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.kvcached.LimitView.State;
import io.holdfast.rules.engine.VirtualClock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Three engines of one device by kvcached's own rules, whose load, operators, strangers, crashes and locks are drawn at
 * random; after each move what the engines really have is held against what must never be.
 */
final class LimitModelTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int MOVES = DEEP ? 100_000 : 10_000;
    private static final long SECOND = 1_000_000_000;
    private static final long BUDGET = 3 * 64 * SimulatedEngine.BUNDLE;

    private final SplittableRandom random = new SplittableRandom(20260921);
    private final VirtualClock clock = new VirtualClock();
    private final List<SimulatedEngine> engines = new ArrayList<>();
    private final List<LimitLever> levers = new ArrayList<>();
    private final List<Integer> wanted = new ArrayList<>();
    private final Map<Integer, LimitRecord> records = new HashMap<>();
    private final Map<Integer, Long> foreign = new HashMap<>();
    private final Map<Integer, Long> lastMoved = new HashMap<>();
    private final Map<String, Integer> seen = new HashMap<>();
    private DevicePool pool = new DevicePool(OptionalLong.of(BUDGET));
    private int moves;
    private boolean started;

    @Test
    void limits_staySafe_whateverHappens() {
        for (int i = 0; i < 3; i++) {
            // Together they start with a half more than the device has.
            engines.add(new SimulatedEngine(clock, 96));
            engines.get(i).largestRequest = 64 * 16;
            wanted.add(8);
        }
        start();
        while (moves < MOVES) {
            second();
        }
        // Nothing of what the test is about may be missing from it.
        assertThat(seen)
                .containsKeys(
                        "lowered",
                        "raised",
                        "restored",
                        "rolled back",
                        "busy",
                        "refused",
                        "unproven",
                        "foreign",
                        "restart",
                        "killed",
                        "resumed",
                        "by pressure",
                        "denied");
    }

    /** A sidecar that knows what was written down, and nothing else. */
    private void start() {
        levers.clear();
        pool = new DevicePool(OptionalLong.of(BUDGET));
        started = true;
        for (int i = 0; i < 3; i++) {
            LimitLever lever = new LimitLever(
                    "kvc" + i,
                    (random.nextBoolean()
                                    ? LimitSettings.defaults()
                                    : LimitSettings.defaults().withBundleBytes(SimulatedEngine.BUNDLE))
                            .withPressure(random.nextBoolean()),
                    Optional.ofNullable(records.get(i)));
            levers.add(lever);
            pool.add(lever);
        }
    }

    private void second() {
        for (int part = random.nextInt(1, 5); part > 0; part--) {
            clock.await(clock.nanos() + random.nextLong(50_000_000, 500_000_000));
            for (int i = 0; i < 3; i++) {
                serve(i);
            }
        }
        for (int i = 0; i < 3; i++) {
            world(i);
        }
        for (int i = 0; i < 3; i++) {
            SimulatedEngine engine = engines.get(i);
            levers.get(i).look(engine.segment(), engine.lastWritten, engine.load(), Optional.empty(), clock.nanos());
            if (started && levers.get(i).view().state() != State.STOPPED) {
                // Where it has no limit written down, a new process takes what it finds for the start.
                foreign.remove(i);
            }
            if (foreign.containsKey(i)) {
                assertThat(levers.get(i).view().state()).isEqualTo(State.STOPPED);
            }
        }
        started = false;
        pool.followPressure(clock.nanos());
        for (int i = 0; i < 3; i++) {
            operator(i);
            int engine = i;
            pool.next(levers.get(i), clock.nanos()).ifPresent(move -> make(engine, move));
            if (levers.size() == 3 && random.nextInt(2_000) == 0) {
                count("killed");
                start();
                return;
            }
        }
    }

    /** Requests come and go; now and then an engine rests for minutes. */
    private void serve(int i) {
        SimulatedEngine engine = engines.get(i);
        if (random.nextInt(40) == 0) {
            wanted.set(i, random.nextInt(3) == 0 ? 8 : random.nextInt(8, 96 * 8 - 8));
        }
        boolean rests = wanted.get(i) == 8;
        engine.running = rests ? 0 : 1;
        if (rests && random.nextInt(4) > 0) {
            engine.waiting = 0;
            return;
        }
        int want = Math.max(1, wanted.get(i) + random.nextInt(-7, 8));
        int got = engine.want(want);
        engine.waiting = got < want ? 1 : 0;
        engine.ttftCount++;
        engine.ttftSum += got < want ? 2 : 0.1;
        engine.preemptions += got < want && random.nextInt(3) == 0 ? 1 : 0;
        // Whatever stands is no more than was there at the start, so no block is beyond the engine's tables.
        assertThat(engine.inForce()).isLessThanOrEqualTo(engine.startup());
    }

    private void world(int i) {
        SimulatedEngine engine = engines.get(i);
        if (random.nextInt(3_000) == 0) {
            count("restart");
            engine.answers = false;
            look(i);
            engine.restart();
            engine.answers = true;
            foreign.remove(i);
            if (levers.get(i).view().state() == State.STOPPED) {
                levers.get(i).resume();
            }
        } else if (random.nextInt(1_000) == 0) {
            long bytes = random.nextLong(20, 97) * SimulatedEngine.BUNDLE;
            if (!canBeOurs(i, bytes)) {
                count("foreign");
                engine.write(bytes);
                foreign.put(i, bytes);
            }
        } else if (foreign.containsKey(i)) {
            assertThat(engine.limit).isEqualTo(foreign.get(i));
            if (!started && random.nextInt(50) == 0) {
                count("resumed");
                assertThat(levers.get(i).resume()).isTrue();
                foreign.remove(i);
            }
        }
    }

    /** Going back to the start is what an engine does that starts again, and a limit of ours is no stranger's. */
    private boolean canBeOurs(int i, long bytes) {
        LimitRecord record = records.getOrDefault(i, new LimitRecord(0, 0, 0, OptionalLong.empty()));
        return bytes == engines.get(i).limit
                || bytes == engines.get(i).startup()
                || bytes == levers.get(i).startup()
                || record.isOurs(bytes)
                || bytes == record.startupBytes();
    }

    private void look(int i) {
        SimulatedEngine engine = engines.get(i);
        levers.get(i).look(engine.segment(), engine.lastWritten, engine.load(), Optional.empty(), clock.nanos());
    }

    private void operator(int i) {
        if (random.nextInt(20) == 0) {
            long bytes = random.nextLong(-1, 100) * SimulatedEngine.BUNDLE + random.nextInt(3);
            if (pool.request(levers.get(i), bytes).isPresent()) {
                count("denied");
            }
        } else if (random.nextInt(200) == 0) {
            levers.get(i).restore();
        }
    }

    private void make(int i, Move move) {
        check(i, move);
        LimitLever lever = levers.get(i);
        records.put(i, pool.begins(lever, move));
        SimulatedEngine engine = engines.get(i);
        moves++;
        int fate = random.nextInt(100);
        if (fate < 2) {
            count("busy");
            end(lever, move, new WriteResult.Busy("busy"));
        } else if (fate < 4) {
            count("refused");
            end(lever, move, new WriteResult.Refused("refused"));
        } else if (fate < 8) {
            count("unproven");
            if (fate < 6) {
                engine.write(move.to());
                lastMoved.put(i, clock.nanos());
            }
            end(lever, move, new WriteResult.Unproven("unproven"));
        } else if (fate < 9) {
            count("killed");
            if (random.nextBoolean()) {
                engine.write(move.to());
                lastMoved.put(i, clock.nanos());
            }
            start();
        } else {
            count(move.to() < move.from() ? "lowered" : "raised");
            engine.write(move.to());
            lastMoved.put(i, clock.nanos());
            clock.await(clock.nanos() + 155_000_000);
            end(lever, move, new WriteResult.Applied(engine.segment(), engine.segment(), engine.lastWritten, 0));
        }
    }

    private void end(LimitLever lever, Move move, WriteResult result) {
        pool.ended(lever, move, result, clock.nanos());
    }

    private void check(int i, Move move) {
        SimulatedEngine engine = engines.get(i);
        String what = "engine " + i + " " + move;
        assertThat(foreign).as(what).doesNotContainKey(i);
        assertThat(move.from()).as(what).isEqualTo(engine.limit).isNotEqualTo(move.to());
        // What is beyond whole pages is the few bytes that bring a pool back to the start that was seen of it.
        long beyond = move.to() % SimulatedEngine.BUNDLE;
        assertThat(move.to()).as(what).isPositive().isLessThanOrEqualTo(engine.startup() + beyond);
        assertThat(beyond).as(what).isLessThan(SimulatedEngine.BUNDLE / 2);
        assertThat(beyond % 8).as(what).isZero();
        if (beyond > 0) {
            count("restored");
        }
        boolean back = move.reason().contains("back");
        if (!back) {
            assertThat(Math.abs(move.to() - move.from())).as(what).isLessThanOrEqualTo(engine.startup() / 5 + 1);
            Optional.ofNullable(lastMoved.get(i))
                    .ifPresent(last -> assertThat(clock.nanos() - last).as(what).isGreaterThanOrEqualTo(5 * SECOND));
        } else {
            assertThat(move.to()).as(what).isGreaterThan(move.from());
            count(move.reason().contains("since") ? "rolled back" : "restored by request");
        }
        if (move.reason().contains("wait for memory")) {
            count("by pressure");
        }
        if (move.to() < move.from()) {
            assertThat(levers).as(what + described()).noneMatch(LimitLever::shrinks);
            assertThat(move.to()).as(what).isGreaterThanOrEqualTo(engine.mapped() + 5 * SimulatedEngine.BUNDLE);
            // 64 blocks of 8 in a page, and the page of the block that is never used.
            assertThat(move.to()).as(what).isGreaterThanOrEqualTo(9 * SimulatedEngine.BUNDLE);
            assertThat(move.marginBytes()).as(what).isGreaterThanOrEqualTo(5 * SimulatedEngine.BUNDLE);
        } else {
            // Whatever an engine follows now, it looks at its limit before it maps another page.
            long all = IntStream.range(0, 3)
                    .mapToLong(other ->
                            Math.max(engines.get(other).mapped(), other == i ? move.to() : engines.get(other).limit))
                    .map(bytes -> bytes - bytes % SimulatedEngine.BUNDLE)
                    .sum();
            long counted = pool.committedBytes() - levers.get(i).committed() + move.to();
            assertThat(counted - counted % SimulatedEngine.BUNDLE)
                    .as(what + described())
                    .isLessThanOrEqualTo(BUDGET);
            assertThat(all).as(what + described()).isLessThanOrEqualTo(BUDGET);
        }
    }

    private String described() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            text.append("; ")
                    .append(i)
                    .append(" limit ")
                    .append(engines.get(i).limit >> 20)
                    .append(" follows ")
                    .append(engines.get(i).inForce() >> 20)
                    .append(" counts as ")
                    .append(levers.get(i).committed() >> 20)
                    .append(' ')
                    .append(levers.get(i).view().state())
                    .append(' ')
                    .append(records.get(i));
        }
        return text.toString();
    }

    private void count(String what) {
        seen.merge(what, 1, Integer::sum);
    }
}
