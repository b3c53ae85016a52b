package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldState;
import io.holdfast.core.plan.Reason;
import io.holdfast.storm.Conversations.Found;
import io.holdfast.storm.Conversations.Workload;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Conversations that go on after their prefix would be lost, on the engine's real rules, in virtual time. */
@TestInstance(Lifecycle.PER_CLASS)
final class ConversationsTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));

    /** A few conversations that are slow to go on, in a stream of prompts that come once: what LRU is worst at. */
    private static final Workload FEW_AMONG_MANY = new Workload(49_152, 250, 0.98, 8, 60);

    /** Share that the stream finds without holds, by engine and seed. */
    private final Map<Map.Entry<Way, Long>, Found> fewAmongManyAlone = new HashMap<>();

    @ParameterizedTest
    @EnumSource(names = {"SESSION_HOLD", "PIN_BLOCKS"})
    void conversationsBetweenOneShots_areHeldByTheirRank(Way way) {
        for (long seed = 0; seed < (DEEP ? 5 : 1); seed++) {
            Found without = withoutHolds(way, seed);
            Conversations run = new Conversations(seed, FEW_AMONG_MANY, way, true);
            Found with = late(run);
            assertThat(with.promptTokens()).as("the same traffic").isCloseTo(without.promptTokens(), withinPercent(5));
            assertThat(with.ratio())
                    .as("seed %d: %s against %s", seed, with, without)
                    .isGreaterThan(1.5 * without.ratio());
            assertThat(run.view().holds().stream().filter(hold -> hold.state() == HoldState.HELD))
                    .isNotEmpty()
                    .allSatisfy(hold -> assertThat(hold.reason()).contains("a conversation after its turn"));
            assertThat(run.view().holds().stream().filter(hold -> hold.state() == HoldState.REQUESTED))
                    .as("what is outranked ends, and does not wait")
                    .hasSizeLessThan(10);
            assertThat(run.view().byRank().licensed()).isTrue();
            fine(run);
        }
    }

    /** Nothing comes back, or all that comes back comes back soon, or far more comes back than there is room for. */
    static Stream<Arguments> littleToGain() {
        Stream<Arguments> slice = Stream.of(
                Arguments.of(new Workload(24_576, 250, 1, 8, 60), Way.SESSION_HOLD),
                Arguments.of(new Workload(24_576, 400, 0.3, 6, 15), Way.PIN_BLOCKS));
        Stream<Arguments> more = Stream.of(
                Arguments.of(new Workload(24_576, 400, 0.3, 6, 15), Way.SESSION_HOLD),
                Arguments.of(new Workload(49_152, 250, 0.8, 8, 60), Way.SESSION_HOLD),
                Arguments.of(new Workload(98_304, 400, 0.5, 4, 5), Way.PIN_BLOCKS));
        return DEEP ? Stream.concat(slice, more) : slice;
    }

    @ParameterizedTest
    @MethodSource("littleToGain")
    void trafficWithLittleToGain_isNotHarmed(Workload workload, Way way) {
        for (long seed = 0; seed < (DEEP ? 5 : 1); seed++) {
            Found without = late(new Conversations(seed, workload, way, false));
            Conversations run = new Conversations(seed, workload, way, true);
            Found with = late(run);
            assertThat(with.ratio())
                    .as("seed %d: %s against %s", seed, with, without)
                    .isGreaterThan(without.ratio() - 0.01);
            assertThat(workload.oneShots() < 1 || run.held() == 0)
                    .as("one-shots alone")
                    .isTrue();
            fine(run);
        }
    }

    /** Hints that are always wrong tell as much as right ones, once that is known. */
    @Test
    void hintsThatLie_costNothing() {
        Found without = withoutHolds(Way.SESSION_HOLD, 0);
        Conversations run = new Conversations(0, FEW_AMONG_MANY, Way.SESSION_HOLD, true).hinting(0);
        Found with = late(run);
        assertThat(with.ratio()).as("%s against %s", with, without).isGreaterThan(1.5 * without.ratio());
        fine(run);
    }

    @ParameterizedTest
    @EnumSource(names = {"KEEP_WARM", "PRIORITY_TOUCH"})
    void holdsThatCannotBeTakenBack_areNotBegunByRank(Way way) {
        Conversations run = new Conversations(1, FEW_AMONG_MANY, way, true);
        run.pass(Duration.ofMinutes(10));
        assertThat(run.view().byRank().licensed()).isFalse();
        assertThat(run.view().byRank().why()).contains("whose holds cannot be taken back");
        assertThat(run.view().lastPlan().lines()).noneMatch(line -> line.code() == Reason.RANKED);
        assertThat(run.view().holds()).isEmpty();
        fine(run);
    }

    private Found withoutHolds(Way way, long seed) {
        return fewAmongManyAlone.computeIfAbsent(
                Map.entry(way, seed), _ -> late(new Conversations(seed, FEW_AMONG_MANY, way, false)));
    }

    /** What is found once there was time to learn. */
    private static Found late(Conversations run) {
        run.pass(Duration.ofMinutes(5));
        run.found();
        run.pass(Duration.ofMinutes(6));
        return run.found();
    }

    private static Percentage withinPercent(double percent) {
        return Percentage.withPercentage(percent);
    }

    private static void fine(Conversations run) {
        assertThat(run.failed()).isZero();
        assertThat(run.failures()).isEmpty();
    }
}
