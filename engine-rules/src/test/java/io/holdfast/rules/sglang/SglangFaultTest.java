package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.testing.Heard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Faults that the scheduler and its GPU act on. Emulated time only: 100 us a token, 5 ms fixed, 5 ms a decode step. */
class SglangFaultTest {
    private static final double MS = 1e6;

    private final VirtualClock clock = new VirtualClock();
    private final List<List<CacheEvent>> published = new ArrayList<>();

    private SglangEngine engine(EngineSettings settings) {
        Faults faults = new Faults(settings.faults());
        SglangEngine engine = new SglangEngine(
                settings.sglang(),
                faults,
                clock,
                new Gpu(settings.speed(), faults, clock, () -> false),
                Model.seeded(settings.seed(), 32_000),
                published::add,
                ElasticPool.OWN);
        engine.step();
        return engine;
    }

    private static EngineSettings small() {
        return EngineSettings.defaults().withCapacityTokens(160);
    }

    private static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens).map(i -> number * 1000 + i).toArray();
    }

    private Heard submit(SglangEngine engine, int[] prompt, int maxNew) {
        Heard heard = new Heard();
        engine.submit(new Generation(prompt, RequestOptions.of(maxNew), false, clock.nanos(), heard));
        return heard;
    }

    private Heard serve(SglangEngine engine, int[] prompt, int maxNew) {
        Heard heard = submit(engine, prompt, maxNew);
        runDry(engine);
        return heard;
    }

    private static void runDry(SglangEngine engine) {
        boolean worked = true;
        while (worked) {
            worked = engine.step();
        }
    }

    private double millisOf(Runnable work) {
        long before = clock.nanos();
        work.run();
        return (clock.nanos() - before) / MS;
    }

    private static long lastBlock(int[] prompt) {
        long[] names = SglangBlockNames.of(prompt, 16);
        return names[names.length - 1];
    }

    @Test
    void coldFirstWave_delaysTheFirstRequestsOfALifeOnly() {
        SglangEngine engine = engine(
                EngineSettings.defaults().withFaults(List.of(new GpuFault.ColdFirstWave(2, Duration.ofMillis(150)))));
        List<Double> times = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            int[] prompt = prompt(i, 100);
            times.add(millisOf(() -> serve(engine, prompt, 1)));
        }
        assertThat(times).containsExactly(165.0, 165.0, 15.0, 15.0);
    }

    @Test
    void warming_multipliesTheWholeTimeOfTheFirstRequests() {
        SglangEngine engine = engine(EngineSettings.defaults().withFaults(List.of(new GpuFault.Warming(1))));
        assertThat(millisOf(() -> serve(engine, prompt(1, 100), 1))).isEqualTo(15 * 1.25);
        assertThat(millisOf(() -> serve(engine, prompt(2, 100), 1))).isEqualTo(15);
    }

    @Test
    void pinIgnored_answersAsIfPinned_andTheFloodTakesIt() {
        SglangEngine engine =
                engine(small().withVariant(Variant.PIN_GPU).withFaults(List.of(new CacheFault.PinIgnored())));
        serve(engine, prompt(1, 32), 1);
        assertThat(engine.pin(new long[] {lastBlock(prompt(1, 32))}).count()).isEqualTo(1);
        assertThat(engine.stats().protectedTokens()).isZero();
        for (int i = 10; i < 20; i++) {
            serve(engine, prompt(i, 48), 1);
        }
        assertThat(serve(engine, prompt(1, 40), 1).cachedTokens).isZero();
    }

    @Test
    void pinForgiving_memoryRunningOutUnderPins_failsTheRequestOnly() {
        SglangEngine engine =
                engine(small().withVariant(Variant.PIN_GPU).withFaults(List.of(new CacheFault.PinForgiving())));
        serve(engine, prompt(1, 64), 1);
        Heard lost = submit(engine, prompt(2, 20), 100);
        engine.step();
        engine.pin(new long[] {lastBlock(prompt(1, 64))});
        runDry(engine);
        assertThat(lost.failure).isPresent();
        assertThat(serve(engine, prompt(3, 20), 1).done).isTrue();
    }

    @Test
    void autoUnpin_takesAPinFromEveryBlockAtEachSoManythRequest() {
        SglangEngine engine =
                engine(small().withVariant(Variant.PIN_GPU).withFaults(List.of(new CacheFault.AutoUnpin(3))));
        serve(engine, prompt(1, 32), 1);
        engine.pin(new long[] {lastBlock(prompt(1, 32))});
        serve(engine, prompt(2, 32), 1);
        assertThat(engine.stats().protectedTokens()).isEqualTo(32);
        serve(engine, prompt(3, 32), 1);
        assertThat(engine.stats().protectedTokens()).isZero();
    }

    @Test
    void capacityFalls_afterSoManyAnswers_andSaysSo() {
        SglangEngine engine = engine(small().withFaults(List.of(new CacheFault.CapacityFalls(50, 2))));
        serve(engine, prompt(1, 60), 1);
        assertThat(engine.stats().capacityTokens()).isEqualTo(160);
        serve(engine, prompt(2, 60), 1);
        assertThat(engine.stats().capacityTokens()).isEqualTo(80);
        assertThat(engine.stats().evictableTokens()).isLessThanOrEqualTo(80);
        assertThat(published.stream().flatMap(List::stream)).anyMatch(CacheEvent.Removed.class::isInstance);
    }

    @Test
    void decodeCannotEvict_failsRequestsThatNeedAPage() {
        SglangEngine engine = engine(small().withFaults(List.of(new CacheFault.DecodeCannotEvict())));
        serve(engine, prompt(1, 96), 1);
        Heard heard = serve(engine, prompt(2, 30), 60);
        assertThat(heard.failure).contains("Cannot allocate 1 blocks: only 0 free");
        assertThat(engine.stats().usedTokens()).isZero();
    }

    @Test
    void flushRefused_soManyTimes() {
        SglangEngine engine = engine(small().withFaults(List.of(new CacheFault.FlushRefused(2))));
        serve(engine, prompt(1, 96), 1);
        assertThat(engine.flush()).isFalse();
        assertThat(engine.flush()).isFalse();
        assertThat(engine.flush()).isTrue();
    }

    @Test
    void holdLost_ofAPriority_theFloodTakesIt() {
        int[] held = prompt(1, 32);
        for (double percent : new double[] {0, 100}) {
            SglangEngine engine = engine(small().withSglang(sglang -> sglang.withEviction(Eviction.PRIORITY))
                    .withFaults(List.of(new CacheFault.HoldLost(percent))));
            engine.submit(new Generation(held, RequestOptions.of(1).withPriority(10), false, 0, new Heard()));
            for (int i = 10; i < 20; i++) {
                serve(engine, prompt(i, 48), 1);
            }
            assertThat(serve(engine, prompt(1, 40), 1).cachedTokens).isEqualTo(percent == 0 ? 32 : 0);
        }
    }

    @Test
    void holdsSlow_chargesForSessionsAndPins() {
        SglangEngine engine = engine(EngineSettings.defaults()
                .withSglang(sglang -> sglang.withSessions(true))
                .withFaults(List.of(new GpuFault.HoldsSlow(100))));
        engine.submit(new Generation(prompt(1, 1_000), RequestOptions.of(1).withSession("s"), false, 0, new Heard()));
        runDry(engine);
        assertThat(millisOf(() -> serve(engine, prompt(2, 100), 1))).isEqualTo(15 * (1 + 0.992));
        engine.closeSession("s");
        assertThat(millisOf(() -> serve(engine, prompt(3, 100), 1))).isEqualTo(15);
    }
}
