package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldState;
import io.holdfast.core.plan.Reason;
import io.holdfast.storm.StormSidecar.Way;
import io.holdfast.storm.SystemPrompts.Round;
import io.holdfast.storm.SystemPrompts.Workload;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** System prompts that nobody sends alone, on the engine's real rules, in virtual time. */
final class SharedPromptTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int FLOOD = 3 * 24_576;

    @ParameterizedTest
    @CsvSource({"1, 512, 0", "5, 512, 8", "1, 2048, 8", "5, 2048, 0"})
    void systemPrompts_areHeldAutomatically(int prompts, int tokens, int alwaysRunning) {
        for (long seed = 0; seed < (DEEP ? 10 : 1); seed++) {
            SystemPrompts run = new SystemPrompts(seed, new Workload(prompts, tokens, 24, FLOOD, alwaysRunning), true);
            List<Round> rounds = run.rounds(DEEP ? 8 : 6);
            assertThat(rounds.subList(0, 2)).as("seed %d, lost at first", seed).noneMatch(Round::allHit);
            assertThat(rounds.subList(3, rounds.size())).as("seed %d", seed).allMatch(Round::allHit);
            assertThat(run.holds()).as("seed %d", seed).hasSize(prompts).allSatisfy(hold -> {
                assertThat(hold.state()).isEqualTo(HoldState.HELD);
                assertThat(hold.heldTokens()).isEqualTo(tokens);
                assertThat(hold.beyondTokens()).isBetween(1L, 208L);
            });
            fine(run);
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 512, 8", "5, 2048, 0"})
    void systemPrompts_areHeldByTheirOwnNames(int prompts, int tokens, int alwaysRunning) {
        SystemPrompts run = new SystemPrompts(3, new Workload(prompts, tokens, 24, FLOOD, alwaysRunning), false);
        run.holdAll(Duration.ofHours(1));
        assertThat(run.rounds(4).subList(1, 4)).allMatch(Round::allHit);
        assertThat(run.holds()).allMatch(hold -> hold.state() == HoldState.HELD && hold.heldTokens() == tokens);
        fine(run);
    }

    /** On a stock engine nothing is pinned for good: what is held is sent, and holds by a session or by being used. */
    @ParameterizedTest
    @CsvSource({
        "SESSION_HOLD, 1, 512, 8",
        "SESSION_HOLD, 5, 2048, 0",
        "PRIORITY_TOUCH, 1, 512, 8",
        "PRIORITY_TOUCH, 5, 2048, 0",
        "KEEP_WARM, 1, 512, 0",
        "KEEP_WARM, 5, 2048, 8"
    })
    void stockEngine_holdsAutomaticallyAndByTokens(Way way, int prompts, int tokens, int alwaysRunning) {
        Workload workload = new Workload(prompts, tokens, 24, FLOOD, alwaysRunning);
        for (long seed = 0; seed < (DEEP ? 10 : 1); seed++) {
            SystemPrompts automatic = new SystemPrompts(seed, workload, true, way);
            List<Round> rounds = automatic.rounds(DEEP ? 8 : 5);
            assertThat(rounds.subList(0, 2)).as("seed %d, lost at first", seed).noneMatch(Round::allHit);
            assertThat(rounds.subList(3, rounds.size())).as("seed %d", seed).allMatch(Round::allHit);
            assertThat(automatic.pinnedTokens()).isZero();
            fine(automatic);

            SystemPrompts requested = new SystemPrompts(seed, workload, false, way);
            requested.holdAllByTokens(Duration.ofHours(1));
            assertThat(requested.rounds(3).subList(1, 3)).as("seed %d", seed).allMatch(Round::allHit);
            fine(requested);
        }
    }

    @Test
    void keptWarm_isLetGoWhenNobodyUsesIt_andComesBackWithItsNextUse() {
        SystemPrompts run = new SystemPrompts(2, new Workload(1, 512, 4, FLOOD, 0), false, Way.KEEP_WARM);
        run.holdAllByTokens(Duration.ofHours(8));
        run.round();
        for (int i = 0; i < 12; i++) {
            run.flood();
        }
        assertThat(run.onlyHold()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.REQUESTED);
            assertThat(hold.reason()).contains("would cost more than computing its 512 tokens again");
        });
        long sent = run.ownRequests().sent();
        run.flood();
        assertThat(run.ownRequests().sent()).as("nothing more is sent").isEqualTo(sent);
        assertThat(run.round().allHit()).as("gone meanwhile").isFalse();
        assertThat(run.onlyHold().state()).isEqualTo(HoldState.HELD);
        assertThat(run.round().allHit()).isTrue();
        fine(run);
    }

    /** 512 tokens at 4 microseconds each: nobody would see the 2 ms that a hold saves. */
    @Test
    void fastEngine_isLeftAloneAndThePlanSaysWhatAHoldWouldSave() {
        Workload workload = new Workload(1, 512, 24, FLOOD, 0);
        SystemPrompts run = new SystemPrompts(4, workload, true, Way.PIN_BLOCKS, 4);
        run.oneByOne(40);
        run.rounds(4);
        assertThat(run.pinnedTokens()).isZero();
        assertThat(run.holds()).noneMatch(hold -> hold.state() == HoldState.HELD);
        assertThat(run.plan().lines()).anySatisfy(line -> {
            assertThat(line.code()).isEqualTo(Reason.SAVES_TOO_LITTLE);
            assertThat(line.reason())
                    .matches("holding its 512 tokens saves a request about (1\\.[5-9]|2\\.[0-5]) ms, and at least 5 ms"
                            + " are worth an automatic hold");
        });
        fine(run);
    }

    /** A hundred times slower, with requests that wait, and a cache that loses nothing: no hold would make that sooner. */
    @Test
    void slowEngineThatLosesNothing_isNotPinned() {
        SystemPrompts run = new SystemPrompts(6, new Workload(1, 512, 24, 0, 0), true, Way.PIN_BLOCKS, 2_000);
        List<Round> rounds = run.rounds(4);
        assertThat(run.holds()).noneMatch(hold -> hold.state() == HoldState.HELD);
        assertThat(run.pinnedTokens()).isZero();
        assertThat(rounds.subList(1, 4))
                .as("its cache keeps what is shared by itself")
                .allMatch(Round::allHit);
    }

    /** The engine is an SGLang without streaming sessions, for which there is no connector and no NIXL. */
    @ParameterizedTest
    @EnumSource(
            names = {"DRY_RUN", "CONNECTOR", "NIXL", "STREAMING_SESSION"},
            mode = EnumSource.Mode.EXCLUDE)
    void fiveTimesTooLittleRoom_doesNoHarmAndHoldsSomething(Way way) {
        Workload workload = new Workload(30, 2_048, 3, 24_576, 0);
        int without = 0;
        int with = 0;
        for (long seed = 0; seed < (DEEP ? 10 : 1); seed++) {
            SystemPrompts plain = new SystemPrompts(seed, workload, false, way);
            int baseline = hits(plain.rounds(5));
            SystemPrompts run = new SystemPrompts(seed, workload, true, way);
            int held = hits(run.rounds(5));
            assertThat(held).as("seed %d", seed).isGreaterThanOrEqualTo(baseline);
            assertThat(run.plan().lines()).allMatch(line -> !line.reason().isEmpty());
            fine(run);
            without += baseline;
            with += held;
        }
        assertThat(with).isGreaterThan(without);
    }

    @Test
    void hold_livesThroughAFlushAndARestartOfTheEngine() {
        SystemPrompts run = new SystemPrompts(5, new Workload(1, 512, 8, FLOOD, 0), false);
        run.holdAll(Duration.ofHours(1));
        run.round();
        assertThat(run.onlyHold().state()).isEqualTo(HoldState.HELD);
        run.flush();
        assertThat(run.onlyHold().state()).isEqualTo(HoldState.LOST);
        assertThat(run.pinnedTokens()).isZero();
        run.round();
        assertThat(run.onlyHold().state()).isEqualTo(HoldState.HELD);
        assertThat(run.round().allHit()).isTrue();
        run.restart();
        run.round();
        assertThat(run.onlyHold()).satisfies(hold -> {
            assertThat(hold.state()).isEqualTo(HoldState.HELD);
            assertThat(hold.timesLost()).isEqualTo(2);
        });
        assertThat(run.round().allHit()).isTrue();
        fine(run);
        run.pass(Duration.ofHours(1));
        assertThat(run.pinnedTokens()).as("its lease is over").isZero();
    }

    private static int hits(List<Round> rounds) {
        return rounds.stream().mapToInt(Round::hits).sum();
    }

    private static void fine(SystemPrompts run) {
        assertThat(run.largestIsServed()).as("the largest request").isTrue();
        assertThat(run.failed()).isZero();
        assertThat(run.failures()).isEmpty();
    }
}
