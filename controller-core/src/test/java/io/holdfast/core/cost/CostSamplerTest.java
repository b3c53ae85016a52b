package io.holdfast.core.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Samples;
import java.util.SplittableRandom;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

final class CostSamplerTest {
    private static final long MILLI = 1_000_000;
    private static final double FIXED = 0.02;
    private static final double PER_TOKEN = 1e-4;

    private final SplittableRandom random = new SplittableRandom(7);
    private long now = 1_000 * MILLI;
    private double counted = 40;
    private double sum = 9;

    @Test
    void cost_requestsOneByOne_isTheLineThroughThem() {
        CostSampler costs = new CostSampler(false);
        for (int i = 0; i < 60; i++) {
            readIdle(costs);
            serve(costs, 16 * (1 + random.nextInt(100)), true);
        }
        readIdle(costs);

        PrefillCost.Known known = known(costs);
        assertThat(known.fixedSeconds()).isCloseTo(FIXED, Offset.offset(0.004));
        assertThat(known.secondsPerToken()).isCloseTo(PER_TOKEN, Offset.offset(5e-6));
        assertThat(known.seconds(1000)).hasValueCloseTo(0.1, Offset.offset(0.005));
    }

    @Test
    void cost_severalRequestsTogether_areOneMeasurement() {
        CostSampler costs = new CostSampler(false);
        for (int i = 0; i < 30; i++) {
            readIdle(costs);
            for (int each = 0; each <= i % 4; each++) {
                serve(costs, 16 * (1 + random.nextInt(100)), true);
            }
        }
        readIdle(costs);
        assertThat(known(costs).samples()).isEqualTo(29);
        assertThat(known(costs).secondsPerToken()).isCloseTo(PER_TOKEN, Offset.offset(5e-6));
    }

    @Test
    void cost_nineteenSamples_isUnknownWithTheirNumber() {
        CostSampler costs = new CostSampler(false);
        readIdle(costs);
        for (int i = 0; i < 20; i++) {
            serve(costs, 16 * (1 + random.nextInt(100)), true);
            readIdle(costs);
        }
        // The last moment is settled by the next reading only.
        assertThat(costs.cost())
                .isEqualTo(new PrefillCost.Unknown(19, "19 of 20 measurements, taken at moments of rest"));
        readIdle(costs);
        assertThat(costs.cost()).isInstanceOf(PrefillCost.Known.class);
    }

    @Test
    void cost_promptsOfOneLength_isUnknownWithTheReason() {
        CostSampler costs = new CostSampler(false);
        for (int i = 0; i < 40; i++) {
            readIdle(costs);
            serve(costs, 160, true);
        }
        readIdle(costs);
        assertThat(costs.cost())
                .isEqualTo(new PrefillCost.Unknown(39, "in 39 measurements longer prompts took no longer"));
        assertThat(costs.cost().seconds(1000)).isEmpty();
    }

    @Test
    void invisibleRequest_spoilsItsIntervalAlone() {
        CostSampler costs = new CostSampler(false);
        for (int i = 0; i < 60; i++) {
            readIdle(costs);
            serve(costs, 16 * (1 + random.nextInt(100)), true);
            if (i % 2 == 0) {
                // All of it was cached, so only the engine counts it.
                serve(costs, 0, false);
            }
        }
        readIdle(costs);
        assertThat(known(costs).samples()).isEqualTo(29);
        assertThat(known(costs).secondsPerToken()).isCloseTo(PER_TOKEN, Offset.offset(5e-6));
    }

    @Test
    void requestNotCountedYet_isWaitedFor() {
        CostSampler costs = new CostSampler(true);
        for (int i = 0; i < 40; i++) {
            read(costs, 0);
            int tokens = 16 * (1 + random.nextInt(100));
            costs.batch(now);
            costs.computes(tokens, true);
            // Its blocks are published, its first token is not there yet.
            read(costs, 1);
            counted++;
            sum += FIXED + PER_TOKEN * tokens;
        }
        read(costs, 0);
        read(costs, 0);
        assertThat(known(costs).secondsPerToken()).isCloseTo(PER_TOKEN, Offset.offset(5e-6));
    }

    @Test
    void runningEngine_isMeasuredWhereItPublishesAfterPrefill() {
        CostSampler early = new CostSampler(false);
        CostSampler late = new CostSampler(true);
        for (int i = 0; i < 40; i++) {
            pause();
            early.reading(readings(3, 0), 0);
            late.reading(readings(3, 0), 0);
            pause();
            int tokens = 16 * (1 + random.nextInt(100));
            for (CostSampler costs : new CostSampler[] {early, late}) {
                costs.batch(now);
                costs.computes(tokens, true);
            }
            counted++;
            sum += FIXED + PER_TOKEN * tokens;
        }
        assertThat(late.cost()).isInstanceOf(PrefillCost.Known.class);
        assertThat(early.cost())
                .isEqualTo(new PrefillCost.Unknown(0, "0 of 20 measurements, taken at moments of rest"));
    }

    @Test
    void restart_comparesNothingAcrossIt() {
        CostSampler costs = new CostSampler(false);
        for (int i = 0; i < 60; i++) {
            readIdle(costs);
            serve(costs, 16 * (1 + random.nextInt(100)), true);
            if (i == 30) {
                costs.interrupted();
                counted = 0;
                sum = 0;
            }
        }
        readIdle(costs);
        assertThat(known(costs).samples()).isEqualTo(57);
        assertThat(known(costs).secondsPerToken()).isCloseTo(PER_TOKEN, Offset.offset(5e-6));
    }

    private void serve(CostSampler costs, int tokens, boolean visible) {
        pause();
        if (visible) {
            costs.batch(now);
            costs.computes(tokens, true);
        }
        counted++;
        sum += FIXED + PER_TOKEN * tokens + random.nextDouble() * 1e-3;
        pause();
    }

    private void readIdle(CostSampler costs) {
        read(costs, 0);
    }

    private void read(CostSampler costs, int running) {
        pause();
        costs.reading(readings(running, 0), 0);
        pause();
    }

    private EngineReadings readings(int running, int waiting) {
        return Samples.readings(4096, 16, 1024, running, waiting, 0, sum, counted, now);
    }

    private void pause() {
        now += 150 * MILLI;
    }

    private static PrefillCost.Known known(CostSampler costs) {
        assertThat(costs.cost()).isInstanceOf(PrefillCost.Known.class);
        return (PrefillCost.Known) costs.cost();
    }
}
