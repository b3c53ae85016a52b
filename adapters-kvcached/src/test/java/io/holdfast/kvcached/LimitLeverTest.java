package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.kvcached.LimitView.State;
import io.holdfast.rules.engine.VirtualClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** One lever or two on engines by kvcached's rules, a look a second. */
final class LimitLeverTest {
    private static final long SECOND = 1_000_000_000;
    private static final long MIB = 1 << 20;
    private static final long STARTUP = 1536 * MIB;

    private final VirtualClock clock = new VirtualClock();
    private final SimulatedEngine engine = new SimulatedEngine(clock, 96);
    private final List<Long> written = new ArrayList<>();
    private LimitSettings settings = LimitSettings.defaults();
    private DevicePool pool = new DevicePool(OptionalLong.empty());
    private LimitLever lever = new LimitLever("kvc", settings, Optional.empty());
    private LimitRecord record = new LimitRecord(0, 0, 0, OptionalLong.empty());

    @BeforeEach
    void oneEngine() {
        begin(Optional.empty());
    }

    private void begin(Optional<LimitRecord> remembered) {
        pool = new DevicePool(OptionalLong.empty());
        lever = new LimitLever("kvc", settings, remembered);
        pool.add(lever);
    }

    /** A second in which the engine serves a request that takes and gives back a page. */
    private void busySecond() {
        engine.want(20);
        engine.want(3);
        idleSecond();
    }

    private void idleSecond() {
        clock.await(clock.nanos() + SECOND);
        look();
        pool.next(lever, clock.nanos()).ifPresent(this::write);
    }

    private void look() {
        lever.look(engine.segment(), engine.lastWritten, engine.load(), Optional.empty(), clock.nanos());
    }

    private void write(Move move) {
        record = pool.begins(lever, move);
        engine.write(move.to());
        written.add(move.to());
        clock.await(clock.nanos() + 150_000_000);
        pool.ended(
                lever,
                move,
                new WriteResult.Applied(engine.segment(), engine.segment(), engine.lastWritten, 0),
                clock.nanos());
    }

    private void busySeconds(int seconds) {
        for (int second = 0; second < seconds; second++) {
            busySecond();
        }
    }

    private void ask(long bytes) {
        assertThat(pool.request(lever, bytes)).isEmpty();
    }

    private State state() {
        return lever.view().state();
    }

    @Test
    void unasked_nothingMoves() {
        busySeconds(100);
        assertThat(written).isEmpty();
        assertThat(state()).isEqualTo(State.IN_FORCE);
        assertThat(lever.view().startupBytes()).hasValue(STARTUP);
        assertThat(lever.view().bundleBytes()).hasValue(SimulatedEngine.BUNDLE);
    }

    @Test
    void requestedLimit_isReachedInSteps_withPauses_eachInForceFirst() {
        busySecond();
        ask(800 * MIB);
        busySeconds(30);
        // A fifth of 1,536 MiB is 307.2; whole pages are 16.
        assertThat(written).containsExactly(1232 * MIB, 928 * MIB, 800 * MIB);
        assertThat(engine.inForce()).isEqualTo(800 * MIB);
        assertThat(state()).isEqualTo(State.IN_FORCE);
        assertThat(lever.view().sentence()).isEqualTo("The engine follows it.");
    }

    @Test
    void idleEngine_hasALimitThatIsRequested_untilItAllocates() {
        busySecond();
        ask(800 * MIB);
        for (int second = 0; second < 60; second++) {
            idleSecond();
        }
        assertThat(written).containsExactly(1232 * MIB);
        assertThat(state()).isEqualTo(State.REQUESTED);
        assertThat(lever.view().sentence())
                .isEqualTo(
                        "It counts from the engine's next allocation on; an idle engine makes none. The move to 800 MiB"
                                + " waits for the engine to allocate, which puts the limit into force.");
        busySeconds(20);
        assertThat(engine.limit).isEqualTo(800 * MIB);
        assertThat(state()).isEqualTo(State.IN_FORCE);
    }

    @Test
    void restore_isOneMove_aByteALayerAboveTheStart_andTheEngineGrows() {
        busySecond();
        ask(800 * MIB);
        busySeconds(30);
        written.clear();
        assertThat(lever.restore()).isEmpty();
        busySeconds(5);
        assertThat(written).containsExactly(STARTUP + 8);
        assertThat(engine.inForce()).isEqualTo(STARTUP);
        assertThat(lever.view().targetBytes()).isEmpty();
    }

    @Test
    void startupAsALimit_isWrittenAsTheRestoringOne() {
        busySecond();
        ask(1232 * MIB);
        busySeconds(10);
        ask(STARTUP);
        busySeconds(10);
        assertThat(written).containsExactly(1232 * MIB, STARTUP + 8);
        assertThat(engine.inForce()).isEqualTo(STARTUP);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        0          | true  | A limit is more than 0 bytes: engines ignore any other, and some die of it.
        -1         | true  | A limit is more than 0 bytes: engines ignore any other, and some die of it.
        1610612745 | true  | The engine started with 1,536 MiB and has no blocks beyond it: ask for that or less.
        16777215   | true  | A page takes 16 MiB over all layers: ask for whole pages of that.
        16777216   | false | The engine holds 96 MiB and needs room for its largest request: the lowest limit now is 176 MiB.
        """)
    void requestThatCannotBe_isRefusedWithASentence(long bytes, boolean never, String sentence) {
        look();
        assertThat(pool.request(lever, bytes)).contains(new Refusal(never, sentence));
    }

    @Test
    void largestRequest_keepsItsRoom_andUnknownAllowsNoLess() {
        engine.largestRequest = 8192;
        look();
        assertThat(lever.view().lowestBytes()).hasValue(1040 * MIB);
        engine.largestRequest = Double.NaN;
        lever.look(engine.segment(), 0, unknownSizes(engine.load()), Optional.empty(), clock.nanos());
        assertThat(pool.request(lever, 1232 * MIB).orElseThrow().sentence())
                .startsWith("How much the largest request needs is not known yet");
    }

    private static EngineLoad unknownSizes(EngineLoad load) {
        return new EngineLoad(
                true,
                load.runningRequests(),
                load.waitingRequests(),
                load.ttftSumSeconds(),
                load.ttftCount(),
                load.preemptions(),
                load.capacityTokens(),
                java.util.OptionalDouble.empty(),
                1);
    }

    @Test
    void foreignLimit_stopsUsWithinALook_andStands_andResumeGoesOn() {
        busySecond();
        ask(800 * MIB);
        busySeconds(3);
        written.clear();
        engine.write(640 * MIB);
        busySecond();
        assertThat(state()).isEqualTo(State.STOPPED);
        assertThat(lever.view().sentence())
                .isEqualTo(
                        "Somebody else moved the limit of kvc from 1,232 MiB to 640 MiB, so that it is left alone: say"
                                + " resume when nobody else moves it any more.");
        assertThat(pool.request(lever, 800 * MIB).orElseThrow())
                .isEqualTo(new Refusal(false, lever.view().sentence()));
        busySeconds(60);
        assertThat(written).isEmpty();
        assertThat(engine.limit).isEqualTo(640 * MIB);
        assertThat(lever.view().foreign()).isEqualTo(1);
        assertThat(lever.resume()).isTrue();
        busySeconds(30);
        assertThat(engine.limit).isEqualTo(800 * MIB);
        assertThat(lever.resume()).isFalse();
    }

    @Test
    void restartedEngine_beginsAtItsStart_andTheRequestIsRampedAnew() {
        busySecond();
        ask(800 * MIB);
        busySeconds(30);
        written.clear();
        engine.want(40);
        idleSecond();
        engine.restart();
        idleSecond();
        assertThat(state()).isNotEqualTo(State.STOPPED);
        assertThat(written).isEmpty();
        busySeconds(40);
        assertThat(written).containsExactly(1232 * MIB, 928 * MIB, 800 * MIB);
    }

    @Test
    void engineOfAnotherSize_afterItWasAway_hasAStartOfItsOwn() {
        busySecond();
        ask(800 * MIB);
        busySeconds(30);
        engine.answers = false;
        idleSecond();
        assertThat(state()).isEqualTo(State.OBSERVE_ONLY);
        assertThat(lever.view().sentence())
                .isEqualTo("The engine does not answer, so kvc may be left over from one that was killed.");
        engine.restart(64, true);
        idleSecond();
        engine.answers = true;
        idleSecond();
        assertThat(lever.view().startupBytes()).hasValue(1024 * MIB);
        assertThat(state()).isEqualTo(State.IN_FORCE);
    }

    @Test
    void engineWithoutPreallocation_isObservedOnly() {
        engine.restart(96, false);
        busySecond();
        // Pages that it gave back stay mapped, and so look as if they were mapped in advance.
        engine.restart(96, false);
        begin(Optional.empty());
        idleSecond();
        assertThat(state()).isEqualTo(State.OBSERVE_ONLY);
        assertThat(lever.view().sentence())
                .isEqualTo("The engine maps no page in advance, and without that it never looks at its limit: start it"
                        + " without KVCACHED_PAGE_PREALLOC_ENABLED=false.");
    }

    @Test
    void engineThatTakesMoreThanItsLimit_isObservedOnly_untilResume() {
        engine.restart(96, false);
        busySecond();
        ask(1232 * MIB);
        busySeconds(2);
        assertThat(engine.limit).isEqualTo(1232 * MIB);
        for (int pages = 70; pages < 90; pages += 4) {
            engine.want(pages * 8);
            idleSecond();
        }
        assertThat(state()).isEqualTo(State.OBSERVE_ONLY);
        assertThat(lever.view().sentence()).startsWith("The engine of kvc takes more memory than its limit allows");
        assertThat(lever.resume()).isTrue();
    }

    @Test
    void stepThatEndsAtTheStartupLimit_isWrittenAsOneThatTheEngineTakes() {
        engine.restart(100, true);
        busySecond();
        ask(1280 * MIB);
        busySeconds(20);
        assertThat(engine.inForce()).isEqualTo(1280 * MIB);
        ask(1600 * MIB);
        busySeconds(30);
        assertThat(written).doesNotContain(1600 * MIB).endsWith(1600 * MIB + 8);
        assertThat(engine.inForce()).isEqualTo(1600 * MIB);
    }

    @Test
    void somebodyWhoPutsTheStartupLimitBack_isNoRestart() {
        busySecond();
        ask(800 * MIB);
        busySeconds(30);
        engine.want(160);
        idleSecond();
        engine.write(STARTUP);
        engine.want(120);
        idleSecond();
        assertThat(state()).isEqualTo(State.STOPPED);
        int before = written.size();
        busySeconds(20);
        assertThat(written).hasSize(before);
    }

    @Test
    void resumeAfterAStrangersLimit_doesNotMakeItTheStartup() {
        busySecond();
        begin(Optional.of(new LimitRecord(STARTUP, 928 * MIB, 800 * MIB, OptionalLong.empty())));
        engine.write(800 * MIB);
        busySeconds(3);
        engine.write(640 * MIB);
        busySeconds(2);
        assertThat(state()).isEqualTo(State.STOPPED);
        assertThat(lever.resume()).isTrue();
        assertThat(lever.view().startupBytes()).hasValue(STARTUP);
    }

    @Test
    void preemptionsAfterASmallerLimit_takeItBackAtOnce() {
        busySeconds(10);
        ask(800 * MIB);
        busySeconds(2);
        assertThat(written).containsExactly(1232 * MIB);
        engine.preemptions += 3;
        busySecond();
        assertThat(written).containsExactly(1232 * MIB, STARTUP + 8);
        assertThat(lever.view().rollbacks()).isEqualTo(1);
        assertThat(lever.view().sentence()).contains("The limit of 1,232 MiB was taken back, since it takes back");
        busySeconds(100);
        assertThat(written).hasSize(2);
    }

    @Test
    void afterALimitWasTakenBack_noneIsLoweredForAMinute() {
        busySeconds(10);
        ask(800 * MIB);
        busySeconds(2);
        engine.preemptions += 3;
        busySecond();
        ask(1232 * MIB);
        busySeconds(50);
        assertThat(written).containsExactly(1232 * MIB, STARTUP + 8);
        assertThat(lever.view().sentence()).contains("waits a minute after a smaller limit was taken back");
        busySeconds(15);
        assertThat(written).containsExactly(1232 * MIB, STARTUP + 8, 1232 * MIB);
    }

    @Test
    void preemptionsAMinuteAfterASmallerLimit_areNotItsDoing() {
        busySeconds(10);
        ask(1232 * MIB);
        busySeconds(70);
        engine.preemptions += 3;
        busySeconds(3);
        assertThat(written).containsExactly(1232 * MIB);
        assertThat(lever.view().rollbacks()).isZero();
    }

    @Test
    void longerTtftAfterASmallerLimit_takesItBack_andOneThatIsAsLongDoesNot() {
        for (int second = 0; second < 10; second++) {
            engine.ttftCount += 2;
            engine.ttftSum += 0.2;
            busySecond();
        }
        ask(1232 * MIB);
        for (int second = 0; second < 90; second++) {
            engine.ttftCount += 2;
            engine.ttftSum += 0.24;
            busySecond();
        }
        assertThat(written).containsExactly(1232 * MIB);
        ask(928 * MIB);
        for (int second = 0; second < 10; second++) {
            engine.ttftCount += 2;
            engine.ttftSum += 0.9;
            busySecond();
        }
        assertThat(written).containsExactly(1232 * MIB, 928 * MIB, 1232 * MIB);
        assertThat(lever.view().sentence()).contains("since the time to first token rose from");
    }

    @Test
    void killedBeforeTheWrite_orAfterIt_theNextKnowsItsOwn() {
        busySecond();
        ask(800 * MIB);
        clock.await(clock.nanos() + SECOND);
        look();
        Move move = pool.next(lever, clock.nanos()).orElseThrow();
        record = pool.begins(lever, move);
        assertThat(record).isEqualTo(new LimitRecord(STARTUP, STARTUP, 1232 * MIB, OptionalLong.of(800 * MIB)));
        // Before it.
        begin(Optional.of(record));
        busySeconds(8);
        assertThat(state()).isNotEqualTo(State.STOPPED);
        assertThat(engine.limit).isEqualTo(1232 * MIB);
        // After it.
        begin(Optional.of(record));
        busySeconds(40);
        assertThat(engine.limit).isEqualTo(800 * MIB);
        assertThat(lever.restore()).isEmpty();
        busySeconds(3);
        assertThat(engine.inForce()).isEqualTo(STARTUP);
    }

    @Test
    void restoredLimit_isNothingThatTheNextHasToKnow() {
        engine.restart(64, true);
        begin(Optional.of(new LimitRecord(STARTUP, 800 * MIB, STARTUP + 8, OptionalLong.empty())));
        busySecond();
        assertThat(state()).isEqualTo(State.IN_FORCE);
        assertThat(lever.view().startupBytes()).hasValue(1024 * MIB);
    }

    @Test
    void limitThatNobodyHereWrote_isFoundByTheNext_andResumeTakesItAsTheStart() {
        record = new LimitRecord(STARTUP, STARTUP, 1232 * MIB, OptionalLong.empty());
        engine.restart(64, true);
        begin(Optional.of(record));
        busySeconds(20);
        assertThat(state()).isEqualTo(State.STOPPED);
        assertThat(lever.view().sentence())
                .isEqualTo("The limit of kvc is 1,024 MiB, and the last one written here was 1,232 MiB: the engine"
                        + " started anew with another one, or somebody else moved it; say resume to go on from it"
                        + " as its startup limit.");
        lever.resume();
        busySecond();
        assertThat(lever.view().startupBytes()).hasValue(1024 * MIB);
        assertThat(state()).isEqualTo(State.IN_FORCE);
    }

    @Test
    void end_restoresWhatWasMoved_andNothingElse() {
        busySecond();
        assertThat(pool.last(lever)).isEmpty();
        ask(1232 * MIB);
        busySeconds(3);
        assertThat(pool.last(lever)).map(Move::to).contains(STARTUP + 8);
        engine.write(640 * MIB);
        busySecond();
        assertThat(pool.last(lever)).isEmpty();
    }

    @Test
    void end_keepsTheLimit_whereTheOperatorWantsThat() {
        settings = settings.withRestores(false);
        begin(Optional.empty());
        busySecond();
        ask(1232 * MIB);
        busySeconds(3);
        assertThat(pool.last(lever)).isEmpty();
    }

    @Test
    void busyLock_isCountedAndTriedAgain() {
        busySecond();
        ask(1232 * MIB);
        clock.await(clock.nanos() + SECOND);
        look();
        Move move = pool.next(lever, clock.nanos()).orElseThrow();
        pool.begins(lever, move);
        pool.ended(lever, move, new WriteResult.Busy("Others had the lock."), clock.nanos());
        assertThat(lever.view().busy()).isEqualTo(1);
        assertThat(lever.view().sentence()).isEqualTo("Others had the lock.");
        assertThat(pool.next(lever, clock.nanos())).as("not at once").isEmpty();
        busySeconds(3);
        assertThat(engine.limit).isEqualTo(1232 * MIB);
    }

    @Test
    void hostThatForbidsIt_observesOnly() {
        clock.await(clock.nanos() + SECOND);
        lever.look(engine.segment(), 0, engine.load(), Optional.of("It may not be written."), clock.nanos());
        assertThat(state()).isEqualTo(State.OBSERVE_ONLY);
        assertThat(lever.view().sentence()).isEqualTo("It may not be written.");
        assertThat(pool.request(lever, 1232 * MIB)).contains(new Refusal(false, "It may not be written."));
    }

    @Test
    void percent_isWhatKvtopHas() {
        look();
        assertThat(lever.view().percent()).isEqualTo(100.0 * 96 / 1536);
    }
}
