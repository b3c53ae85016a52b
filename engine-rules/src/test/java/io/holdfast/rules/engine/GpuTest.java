package io.holdfast.rules.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import java.time.Duration;
import java.util.List;
import java.util.function.DoubleSupplier;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** How long passes take, on a clock that jumps. */
final class GpuTest {
    /** 5 ms and 0.1 ms for each token of a prefill, 10 ms for a decode step. */
    private static final Speed SPEED = new Speed(100, 5_000, 10_000, 1);

    private static final Pass PREFILL = Pass.prefill(50, 1, 1);
    private static final Pass CHUNK = Pass.prefill(50, 1, 0);
    private static final Pass DECODE = Pass.decode(4);

    private final VirtualClock clock = new VirtualClock();

    @Test
    void passes_takeTheirTime() {
        Gpu gpu = gpu(SPEED);
        assertThat(millis(gpu, PREFILL)).isEqualTo(10);
        assertThat(millis(gpu, DECODE)).isEqualTo(10);
        assertThat(millis(gpu, new Pass(50, 1, 1, 4, 0))).isEqualTo(20);
        assertThat(millis(gpu(new Speed(100, 5_000, 10_000, 4)), PREFILL)).isEqualTo(2.5);
    }

    @Test
    void coldFirstWave_delaysTheFirstTokensOfTheFirstRequests_once() {
        Gpu gpu = gpu(SPEED, new GpuFault.ColdFirstWave(2, Duration.ofMillis(150)));
        assertThat(millis(gpu, CHUNK, PREFILL, DECODE, PREFILL, PREFILL)).containsExactly(10, 160, 10, 160, 10);
        Gpu together = gpu(SPEED, new GpuFault.ColdFirstWave(2, Duration.ofMillis(150)));
        assertThat(millis(together, Pass.prefill(50, 3, 3), PREFILL)).containsExactly(160, 10);
    }

    @Test
    void warming_slowsTheFirstPrefills() {
        Gpu gpu = gpu(SPEED, new GpuFault.Warming(2));
        assertThat(millis(gpu, CHUNK, PREFILL, DECODE, PREFILL, PREFILL)).containsExactly(12.5, 12.5, 10, 12.5, 10);
    }

    @Test
    void noise_isDrawnForAStartALegAndARequest() {
        Gpu requests = gpu(SPEED, new GpuFault.Noise(0, 0, 3, 1));
        assertThat(spread(10_000, () -> millis(requests, PREFILL))).isCloseTo(0.03, within(0.001));
        assertThat(spread(100, () -> millis(requests, DECODE))).isCloseTo(0, within(1e-9));
        Gpu legs = gpu(SPEED, new GpuFault.Noise(0, 2, 0, 1));
        assertThat(spread(100, () -> millis(legs, PREFILL))).isCloseTo(0, within(1e-9));
        assertThat(spread(10_000, () -> {
                    legs.cacheEmptied();
                    return millis(legs, PREFILL);
                }))
                .isCloseTo(0.02, within(0.001));
        Gpu life = gpu(SPEED, new GpuFault.Noise(10, 0, 0, 1));
        assertThat(spread(100, () -> {
                    life.cacheEmptied();
                    return millis(life, PREFILL);
                }))
                .isCloseTo(0, within(1e-9));
        assertThat(spread(10_000, () -> millis(gpu(SPEED, new GpuFault.Noise(10, 0, 0, 0)), PREFILL)))
                .as("each start is another, unless it has a seed")
                .isCloseTo(0.1, within(0.005));
        assertThat(millis(gpu(SPEED, new GpuFault.Noise(10, 2, 3, 5)), PREFILL))
                .isEqualTo(millis(gpu(SPEED, new GpuFault.Noise(10, 2, 3, 5)), PREFILL));
    }

    /** The standard deviation of the logarithms. */
    private static double spread(int values, DoubleSupplier drawn) {
        double[] logs = DoubleStream.generate(() -> Math.log(drawn.getAsDouble()))
                .limit(values)
                .toArray();
        double mean = DoubleStream.of(logs).average().orElseThrow();
        double squares =
                DoubleStream.of(logs).map(log -> (log - mean) * (log - mean)).sum();
        return Math.sqrt(squares / (values - 1));
    }

    @Test
    void drift_growsEvenlyFromItsBeginning_andStays() {
        Faults faults = Faults.none();
        Gpu gpu = new Gpu(SPEED, faults, clock, () -> false);
        pass(gpu, 100);
        faults.begin(new GpuFault.Drift(50, 10));
        assertThat(millis(gpu, DECODE)).isEqualTo(10);
        clock.await(clock.nanos() + 5_000_000_000L - 10_000_000);
        assertThat(millis(gpu, DECODE)).isCloseTo(12.5, within(1e-6));
        clock.await(clock.nanos() + 60_000_000_000L);
        assertThat(millis(gpu, DECODE, PREFILL)).containsExactly(15, 15);
        faults.begin(new GpuFault.Drift(-50, 10));
        assertThat(millis(gpu, DECODE)).isEqualTo(10);
        clock.await(clock.nanos() + 60_000_000_000L);
        assertThat(millis(gpu, DECODE)).isEqualTo(5);
        faults.end(new GpuFault.Drift(-50, 10).kind());
        assertThat(millis(gpu, DECODE)).isEqualTo(10);
    }

    @Test
    void throttling_comesWithWork_andNotWithTime() {
        Gpu gpu = gpu(SPEED, new GpuFault.Throttling(0.5, 1));
        assertThat(millis(gpu, DECODE)).isEqualTo(10);
        clock.await(clock.nanos() + 60_000_000_000L);
        assertThat(millis(gpu, DECODE)).as("after a minute of idleness").isBetween(10.0, 10.1);
        double before = 0;
        for (int i = 0; i < 60; i++) {
            double millis = millis(gpu, DECODE);
            assertThat(millis).isGreaterThan(before);
            before = millis;
        }
        // Well over half a second of work: between e^-1 and e^-0.6 of the way is still to go.
        assertThat(before).isBetween(10 / (0.5 + 0.5 * Math.exp(-0.6)), 10 / (0.5 + 0.5 * Math.exp(-1)));
        pass(gpu, 1_000);
        assertThat(millis(gpu, DECODE)).isCloseTo(20, within(0.01));
        clock.await(clock.nanos() + 3_600_000_000_000L);
        assertThat(millis(gpu, DECODE)).as("after an hour of idleness").isCloseTo(20, within(0.01));
    }

    @Test
    void throttling_atScaledTime_followsEmulatedWork() {
        Gpu slow = gpu(SPEED, new GpuFault.Throttling(0.84, 1));
        Gpu fast = gpu(new Speed(100, 5_000, 10_000, 100), new GpuFault.Throttling(0.84, 1));
        pass(slow, 50);
        pass(fast, 50);
        assertThat(millis(fast, DECODE) * 100).isCloseTo(millis(slow, DECODE), within(1e-3));
    }

    @Test
    void holds_slowTheOthersByTheirSize() {
        Gpu gpu = gpu(SPEED, new GpuFault.HoldsSlow(10));
        assertThat(millis(gpu, DECODE, DECODE.holding(1_000), PREFILL.holding(500), DECODE))
                .containsExactly(10, 11, 10.5, 10);
    }

    @Test
    void faultsTogether_multiply() {
        Gpu gpu = gpu(
                SPEED,
                new GpuFault.Warming(1),
                new GpuFault.HoldsSlow(10),
                new GpuFault.ColdFirstWave(1, Duration.ofMillis(7)));
        assertThat(millis(gpu, PREFILL.holding(1_000))).isEqualTo(10 * 1.25 * 1.1 + 7);
    }

    private Gpu gpu(Speed speed, Fault... faults) {
        return new Gpu(speed, new Faults(List.of(faults)), clock, () -> false);
    }

    private static void pass(Gpu gpu, int times) {
        for (int i = 0; i < times; i++) {
            gpu.run(DECODE);
        }
    }

    private double[] millis(Gpu gpu, Pass first, Pass second, Pass... more) {
        return Stream.concat(Stream.of(first, second), Stream.of(more))
                .mapToDouble(pass -> millis(gpu, pass))
                .toArray();
    }

    private double millis(Gpu gpu, Pass pass) {
        long before = clock.nanos();
        assertThat(gpu.run(pass)).isTrue();
        return (clock.nanos() - before) / 1e6;
    }
}
