package io.holdfast.storm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.storm.DefaultCell.Flood;
import io.holdfast.storm.DefaultCell.Head;
import io.holdfast.storm.DefaultCell.Result;
import io.holdfast.storm.DefaultCell.Seen;
import io.holdfast.storm.StockEngine.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A system prompt before users' texts, lost between rounds, on stock engines of all sizes: a sidecar that was told where the
 * engine is and nothing else holds it, in virtual time.
 *
 * <p>A slice has every two sizes of what is quickly played together once. {@code -Dholdfast.scale=deep} plays one in ten
 * of all sizes. {@code -Dholdfast.defaults.table=FILE} plays all of them for caches of up to 65,536 tokens and a sample of the
 * larger ones, and writes what came out, anew after every hundred cells. {@code -Dtest.compilers=4} makes both twice as fast.
 */
@TestInstance(Lifecycle.PER_CLASS)
final class HoldsByDefaultTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final Optional<Path> TABLE =
            Optional.ofNullable(System.getProperty("holdfast.defaults.table")).map(Path::of);

    /** Cells, after which the table is written, so that a run that is ended has one. */
    private static final int A_WHILE = 100;

    private static final int THIRD_ROUND = 3;
    private static final double FOUND_WITH_SESSIONS = 0.95;

    /** Holds are off in half of the windows until their effect is proven. */
    private static final double MOST_MEASURED = 0.5;

    private static final double FOUND_KEPT_WARM = 0.9;
    private static final double LEAST_MATTERS = 0.01;
    private static final double MOST_SLOWER = 0.05;

    private List<Result> results = List.of();

    @BeforeAll
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void play() throws IOException {
        List<DefaultCell> cells =
                TABLE.isPresent() ? DefaultGrid.forTheTable() : DEEP ? DefaultGrid.deep() : DefaultGrid.slice();
        Map<DefaultCell, Seen> alone = new HashMap<>();
        List<Result> played = new ArrayList<>();
        for (DefaultCell cell : cells) {
            Seen seen = alone.get(cell.alone());
            if (seen == null) {
                seen = cell.alone().seenAlone();
                alone.put(cell.alone(), seen);
            }
            played.add(cell.run(seen));
            if (TABLE.isPresent() && (played.size() % A_WHILE == 0 || played.size() == cells.size())) {
                Files.writeString(TABLE.get(), new DefaultTable(played).markdown());
            }
        }
        results = List.copyOf(played);
    }

    @Test
    void sharedHead_isHeldFromTheThirdRoundOn() {
        assertThat(misses(HoldsByDefaultTest::notHeld)).isEmpty();
    }

    @Test
    void heldHead_isFound() {
        assertThat(misses(HoldsByDefaultTest::notFound)).isEmpty();
    }

    @Test
    void heldHead_isNotOffToBeMeasuredForMostOfTheTime() {
        assertThat(misses(HoldsByDefaultTest::off)).isEmpty();
    }

    @Test
    void otherRequests_areNotSlower() {
        assertThat(misses(HoldsByDefaultTest::slower)).isEmpty();
    }

    @Test
    void everyRequest_isServed() {
        assertThat(misses(result -> result.failed() == 0 && result.failures().isEmpty()
                        ? Optional.empty()
                        : Optional.of(result.failed() + " failed, " + result.failures())))
                .isEmpty();
    }

    @Test
    void slice_hasEveryTwoSizesTogether() {
        assertThat(DefaultGrid.missingPairs(DefaultGrid.slice())).isEmpty();
    }

    /** Its last round comes in the first window that is off. */
    @Test
    void windowWithoutHolds_isNotTakenForALoss() {
        DefaultCell cell = new DefaultCell(
                new StockEngine(Kind.SGLANG_SESSIONS, 16, 32_768, 1_000_000), 16, 8, Head.USUAL, Flood.WHOLE);
        Result result = cell.run(new Seen());
        assertThat(result.after()).isBetween(FOUND_WITH_SESSIONS, 1.0);
        assertThat(result.measured()).isBetween(0.01, MOST_MEASURED);
    }

    @ParameterizedTest
    @EnumSource
    void cacheThatKeepsTheHeadAnyway_holdsNothing(Kind kind) {
        for (int page : kind.isVllm() ? new int[] {16, 64} : new int[] {1, 16, 64}) {
            for (int atATime : new int[] {1, 16}) {
                DefaultCell cell = new DefaultCell(
                        new StockEngine(kind, page, 8_192, 64_000), atATime, 64, Head.USUAL, Flood.AMPLE);
                Result result = cell.run(cell.alone().seenAlone());
                assertThat(result.without()).as("lost by itself: %s", cell).isGreaterThan(0.95);
                assertThat(result.firstHold()).as("held: %s", cell).isZero();
                assertThat(result.own()).as("requests of our own: %s", cell).isZero();
            }
        }
    }

    /** What is wrong with a cell in its words; absent where all is well. */
    @FunctionalInterface
    interface Bar {
        Optional<String> miss(Result result);
    }

    private List<String> misses(Bar bar) {
        return results.stream()
                .flatMap(result -> bar.miss(result).map(miss -> result.cell() + ": " + miss).stream())
                .toList();
    }

    static Stream<Bar> bars() {
        return Stream.of(
                HoldsByDefaultTest::notHeld,
                HoldsByDefaultTest::notFound,
                HoldsByDefaultTest::off,
                HoldsByDefaultTest::slower);
    }

    private static Optional<String> notHeld(Result result) {
        return result.firstHold() > 0 && result.firstHold() <= THIRD_ROUND
                ? Optional.empty()
                : Optional.of(
                        result.firstHold() == 0
                                ? "never held, " + result.why()
                                : "held from round " + result.firstHold() + " on");
    }

    /**
     * Where a whole cache is stored at once, nothing can be kept warm: a touch comes when the events tell of what was stored. And
     * where what runs needs the whole cache, nothing that can be evicted is kept.
     */
    private static Optional<String> notFound(Result result) {
        boolean keeps = result.cell().engine().kind().keepsUnused();
        double least = result.cell().fills() || (!keeps && result.cell().flood() == Flood.WHOLE)
                ? result.without() - LEAST_MATTERS
                : keeps ? FOUND_WITH_SESSIONS : FOUND_KEPT_WARM;
        return Double.isNaN(result.after()) || result.after() >= least
                ? Optional.empty()
                : Optional.of(String.format(
                        java.util.Locale.ROOT,
                        "found by %.1f %% once held, off for %d s",
                        100 * result.after(),
                        result.off().toSeconds()));
    }

    private static Optional<String> off(Result result) {
        return Double.isNaN(result.measured()) || result.measured() <= MOST_MEASURED
                ? Optional.empty()
                : Optional.of(String.format(
                        java.util.Locale.ROOT,
                        "off to be measured for %.1f %% of the requests once held",
                        100 * result.measured()));
    }

    private static Optional<String> slower(Result result) {
        return result.slower() <= MOST_SLOWER
                ? Optional.empty()
                : Optional.of(String.format(
                        java.util.Locale.ROOT,
                        "p99 of the others %d ms, %d ms without holds (+%.1f %%)",
                        millis(result.p99()),
                        millis(result.p99Without()),
                        100 * result.slower()));
    }

    private static long millis(Duration duration) {
        return duration.toMillis();
    }
}
