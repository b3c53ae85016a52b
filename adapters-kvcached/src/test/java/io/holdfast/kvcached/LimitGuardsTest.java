package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.rules.engine.VirtualClock;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What keeps a limit from moving, or from being believed: two engines that share a device, and each guard alone. */
final class LimitGuardsTest {
    private static final long SECOND = 1_000_000_000;
    private static final long MIB = 1 << 20;
    private static final long STARTUP = 1536 * MIB;
    private static final long PAGE = SimulatedEngine.BUNDLE;

    private final VirtualClock clock = new VirtualClock();
    private final SimulatedEngine one = new SimulatedEngine(clock, 96);
    private final SimulatedEngine other = new SimulatedEngine(clock, 96);
    private final Map<LimitLever, SimulatedEngine> engines = new LinkedHashMap<>();
    private final List<Long> written = new ArrayList<>();

    private LimitLever lever(DevicePool pool, SimulatedEngine engine, boolean pressure, Optional<LimitRecord> record) {
        LimitLever lever = new LimitLever("kvc", LimitSettings.defaults().withPressure(pressure), record);
        pool.add(lever);
        engines.put(lever, engine);
        return lever;
    }

    private void seconds(DevicePool pool, int seconds, boolean busy) {
        for (int second = 0; second < seconds; second++) {
            clock.await(clock.nanos() + SECOND);
            engines.forEach((lever, engine) -> {
                if (busy) {
                    engine.want(20);
                    engine.want(3);
                }
                lever.look(engine.segment(), engine.lastWritten, engine.load(), Optional.empty(), clock.nanos());
            });
            pool.followPressure(clock.nanos());
            engines.forEach((lever, engine) ->
                    pool.next(lever, clock.nanos()).ifPresent(move -> write(pool, lever, engine, move)));
        }
    }

    private void write(DevicePool pool, LimitLever lever, SimulatedEngine engine, Move move) {
        LimitRecord unused = pool.begins(lever, move);
        assertThat(unused.to()).isEqualTo(move.to());
        engine.write(move.to());
        if (engine.equals(one)) {
            written.add(move.to());
        }
        clock.await(clock.nanos() + 150_000_000);
        pool.ended(
                lever,
                move,
                new WriteResult.Applied(engine.segment(), engine.segment(), engine.lastWritten, 0),
                clock.nanos());
    }

    @Test
    void requestForAllTheRoomThereIs_isTaken_andAPageMoreIsNot() {
        DevicePool pool = new DevicePool(OptionalLong.of((1232 + 800 + 304) * MIB));
        LimitLever lever = lever(pool, one, false, Optional.empty());
        LimitLever neighbour = lever(pool, other, false, Optional.empty());
        seconds(pool, 1, true);
        assertThat(pool.request(lever, 800 * MIB)).isEmpty();
        assertThat(pool.request(neighbour, 1232 * MIB)).isEmpty();
        seconds(pool, 60, true);
        assertThat(pool.roomBytes()).isEqualTo(304 * MIB);
        assertThat(pool.request(lever, 1120 * MIB).orElseThrow().sentence())
                .isEqualTo("The engines of its device have 304 MiB left between them: lower another one first.");
        assertThat(pool.request(lever, 1104 * MIB)).isEmpty();
    }

    @Test
    void limitThatIsTakenBack_takesTheRoomThereIs_andTheRestLater() {
        DevicePool pool = new DevicePool(OptionalLong.of((1232 + 1536 + 64) * MIB));
        LimitLever lever = lever(pool, one, false, Optional.empty());
        LimitLever neighbour = lever(pool, other, false, Optional.empty());
        seconds(pool, 10, true);
        assertThat(pool.request(lever, 1232 * MIB)).isEmpty();
        seconds(pool, 5, true);
        one.preemptions += 3;
        seconds(pool, 5, true);
        assertThat(written).containsExactly(1232 * MIB, 1296 * MIB);
        assertThat(pool.request(neighbour, 1232 * MIB)).isEmpty();
        seconds(pool, 20, true);
        assertThat(written).endsWith(STARTUP + 8);
    }

    @Test
    void neighbour_isLoweredForOthers_onlyAfterAMinuteOfRest() {
        DevicePool pool = new DevicePool(OptionalLong.of((1232 + 1536) * MIB));
        one.write(1232 * MIB);
        LimitRecord record = new LimitRecord(STARTUP, STARTUP, 1232 * MIB, OptionalLong.empty());
        LimitLever lever = lever(pool, one, true, Optional.of(record));
        LimitLever neighbour = lever(pool, other, true, Optional.empty());
        other.want(3);
        one.want(20);
        seconds(pool, 2, false);
        one.want(70 * 8);
        seconds(pool, 2, false);
        one.waiting = 3;
        one.running = 1;
        seconds(pool, 40, false);
        assertThat(lever.pressure()).isGreaterThan(0.9);
        assertThat(neighbour.standing()).isEqualTo(STARTUP);
        seconds(pool, 30, false);
        assertThat(neighbour.standing()).isLessThan(STARTUP);
    }

    @Test
    void engineThatIgnoresItsLimit_countsWithAllThatItStartedWith() {
        LimitRecord record = new LimitRecord(50 * PAGE, 40 * PAGE, 30 * PAGE, OptionalLong.empty());
        LimitLever lever = new LimitLever("kvc", LimitSettings.defaults(), Optional.of(record));
        for (int second = 0; second < 5; second++) {
            lever.look(
                    new Segment(30 * PAGE, (30 + second) * PAGE, PAGE),
                    second * SECOND,
                    one.load(),
                    Optional.empty(),
                    second * SECOND);
        }
        assertThat(lever.view().sentence()).startsWith("The engine of kvc takes more memory than its limit allows");
        assertThat(lever.committed()).isEqualTo(50 * PAGE);
    }

    @Test
    void engineThatHadNoTimeToNoticeItsLimit_doesNotIgnoreIt() {
        SegmentTrust trust = new SegmentTrust("kvc", OptionalLong.of(PAGE));
        trust.look(new Segment(10 * PAGE, 8 * PAGE, PAGE), 0);
        trust.look(new Segment(7 * PAGE, 8 * PAGE, PAGE), SECOND);
        trust.look(new Segment(7 * PAGE, 9 * PAGE, PAGE), SECOND + SECOND / 5);
        assertThat(trust.ignoresItsLimit()).isFalse();
        trust.look(new Segment(7 * PAGE, 9 * PAGE, PAGE), 2 * SECOND);
        trust.look(new Segment(7 * PAGE, 10 * PAGE, PAGE), 3 * SECOND);
        assertThat(trust.ignoresItsLimit()).isTrue();
    }

    @Test
    void useBeyondTheStartupLimit_isOfSeveralPools() {
        SegmentTrust trust = new SegmentTrust("kvc", OptionalLong.of(PAGE));
        trust.look(new Segment(10 * PAGE, 8 * PAGE, PAGE), 0);
        assertThat(trust.doubt(new Segment(10 * PAGE, 10 * PAGE, PAGE), one.load(), 10 * PAGE))
                .isEmpty();
        assertThat(trust.doubt(new Segment(10 * PAGE, 11 * PAGE, PAGE), one.load(), 10 * PAGE))
                .contains("The segment kvc says that more is used than the engine started with, so several pools write"
                        + " into it: give each engine a KVCACHED_IPC_NAME of its own.");
    }

    @Test
    void firstTokensThatTakeAFewMillisecondsMore_areNoStrain() {
        assertThat(ttft(0.01, 0.03)).isEmpty();
        assertThat(ttft(0.01, 0.08)).contains("the time to first token rose from 10 to 80 ms");
        assertThat(ttft(0.2, 0.28)).isEmpty();
    }

    private static Optional<String> ttft(double before, double after) {
        Strain strain = new Strain();
        double sum = 0;
        for (int second = 0; second <= 40; second++) {
            sum += second <= 20 ? before : after;
            strain.add(
                    new EngineLoad(
                            true,
                            OptionalDouble.of(1),
                            OptionalDouble.of(0),
                            OptionalDouble.of(sum),
                            OptionalDouble.of(second),
                            OptionalDouble.of(0),
                            OptionalDouble.of(1),
                            OptionalDouble.of(1),
                            1),
                    second * SECOND);
        }
        return strain.worseSince(20 * SECOND);
    }
}
