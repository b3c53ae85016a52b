package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.KvcachedPool;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.kvcached.OwnSegment;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An engine in 32 pages of 8 blocks of 16 tokens, whose limit others move. */
class SglangKvcachedTest {
    private static final int BLOCK = 16;
    private static final long PAGE = 16 << 20;
    private static final long START = 32 * PAGE;

    private final VirtualClock clock = new VirtualClock();
    private final Faults faults = Faults.none();

    @ParameterizedTest
    @EnumSource(SglangSettings.Variant.class)
    void limit_doesNothingWhileIdle_costsHitsWithTheNextAllocation_andCanBeRaisedAgain(SglangSettings.Variant variant) {
        Server server = new Server(SglangSettings.defaults().withVariant(variant), memory());
        fill(server);
        long full = server.segment.used();
        assertThat(full).isEqualTo(26 * PAGE);
        assertThat(server.cached(1, 20)).isEqualTo(20 * BLOCK);

        server.segment.setLimit(8 * PAGE);
        later();
        server.run();
        assertThat(server.segment.used()).as("an idle engine sees nothing").isEqualTo(full);

        assertThat(server.cached(50, 20)).isZero();
        assertThat(server.segment.used() + server.segment.reserved()).isLessThanOrEqualTo(8 * PAGE);
        assertThat(server.engine.stats().capacityTokens()).isEqualTo((8 * 8 - 1) * BLOCK);
        assertThat(server.cached(1, 20)).as("the newest stays").isEqualTo(20 * BLOCK);
        assertThat(server.cached(5, 20)).as("the oldest went").isZero();

        server.segment.setLimit(START + 8);
        later();
        fill(server);
        assertThat(server.cached(1, 20)).isEqualTo(20 * BLOCK);
        assertThat(server.cached(10, 20)).isEqualTo(20 * BLOCK);
        assertThat(server.segment.used()).isGreaterThan(20 * PAGE);
    }

    @Test
    void requestsThatGrowBeyondTheLimit_areRetractedLikeInAFullCache() {
        Server server = new Server(SglangSettings.defaults(), memory());
        List<Heard> all = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            all.add(server.submit(prompt(i, 8 * BLOCK), 18 * BLOCK));
        }
        for (int i = 0; i < 20; i++) {
            server.engine.step();
        }
        assertThat(server.engine.stats().running()).isEqualTo(3);
        server.segment.setLimit(5 * PAGE);
        later();
        server.run();
        assertThat(all).allSatisfy(heard -> assertThat(heard.tokens).hasSize(18 * BLOCK));
        assertThat(server.engine.stats().capacityTokens()).isEqualTo((5 * 8 - 1) * BLOCK);
    }

    @Test
    void requestLargerThanTheLimit_waitsUntilItIsRaised() {
        Server server = new Server(SglangSettings.defaults(), memory());
        fill(server);
        server.segment.setLimit(4 * PAGE);
        later();
        Heard large = server.submit(prompt(70, 40 * BLOCK), 1);
        server.run();
        assertThat(large.tokens).isEmpty();
        server.segment.setLimit(16 * PAGE);
        later();
        server.run();
        assertThat(large.tokens).hasSize(1);
    }

    @Test
    void cachedTokens_areCappedWhenARequestHasEnded() {
        Server server = new Server(SglangSettings.defaults(), memory().withMaxCachedTokens(24 * BLOCK));
        server.cached(1, 20);
        server.cached(2, 20);
        assertThat(server.engine.cache().evictableTokens()).isEqualTo(20 * BLOCK);
        assertThat(server.segment.used()).isEqualTo(3 * PAGE);
        assertThat(server.cached(2, 20)).isEqualTo(20 * BLOCK);
        assertThat(server.cached(1, 20)).as("whole nodes go").isZero();
    }

    @Test
    void flush_givesTheBlocksBackAndEndsAShrink() {
        Server server = new Server(SglangSettings.defaults(), memory());
        fill(server);
        assertThat(server.engine.flush()).isTrue();
        assertThat(server.segment.used()).as("the null block's page").isEqualTo(PAGE);
        assertThat(server.cached(1, 20)).isZero();
    }

    @Test
    void nextLife_beginsWithTheWholeMemory() {
        Server server = new Server(SglangSettings.defaults(), memory());
        fill(server);
        server.segment.setLimit(8 * PAGE);
        later();
        server.cached(50, 4);
        Server next = new Server(SglangSettings.defaults(), memory());
        assertThat(next.segment.limit()).hasValue(START);
        assertThat(next.segment.used()).isEqualTo(PAGE);
        fill(next);
        assertThat(next.cached(1, 20)).isEqualTo(20 * BLOCK);
    }

    /** Requests of up to 30 blocks, several at a time, under limits that always leave room for one of them. */
    @Test
    void movingLimits_leaveNobodyUnanswered() {
        Server server = new Server(SglangSettings.defaults(), memory());
        Random random = new Random(4);
        int rounds = System.getProperty("holdfast.scale", "slice").equals("deep") ? 5_000 : 300;
        for (int round = 0; round < rounds; round++) {
            if (random.nextInt(3) == 0) {
                server.segment.setLimit((5 + random.nextInt(28)) * PAGE + 8);
                later();
            }
            List<Heard> all = new ArrayList<>();
            for (int i = random.nextInt(8); i >= 0; i--) {
                int[] prompt = prompt(random.nextInt(12), 1 + random.nextInt(20 * BLOCK));
                all.add(server.submit(prompt, 1 + random.nextInt(10 * BLOCK)));
                for (int steps = random.nextInt(30); steps > 0; steps--) {
                    server.engine.step();
                }
            }
            server.run();
            assertThat(all).allSatisfy(heard -> assertThat(heard.done).isTrue());
            int blocks = (server.engine.stats().capacityTokens()
                            - server.engine.stats().freeTokens())
                    / BLOCK;
            assertThat(server.segment.used()).isEqualTo((1 + blocks + 7) / 8 * PAGE);
        }
    }

    private static void fill(Server server) {
        for (int i = 10; i >= 1; i--) {
            server.cached(i, 20);
        }
    }

    private KvcachedSettings memory() {
        return KvcachedSettings.of(EngineTag.SGLANG, 256, BLOCK).withMaxCachedTokens(-1);
    }

    private void later() {
        clock.await(clock.nanos() + 100_000_000);
    }

    private static int[] prompt(int number, int tokens) {
        return IntStream.range(0, tokens).map(i -> number * 1000 + i).toArray();
    }

    private final class Server {
        private final SglangEngine engine;
        private final OwnSegment segment;

        Server(SglangSettings settings, KvcachedSettings memory) {
            segment = new OwnSegment(memory);
            KvcachedPool pool = KvcachedPool.start(memory, clock, segment);
            engine = new SglangEngine(
                    settings,
                    faults,
                    clock,
                    new Gpu(new Speed(100, 5_000, 5_000, 1), faults, clock, () -> false),
                    Model.seeded(1, 32_000),
                    events -> {},
                    pool);
        }

        int cached(int number, int blocks) {
            Heard heard = submit(prompt(number, blocks * BLOCK + 1), 1);
            run();
            assertThat(heard.tokens).hasSize(1);
            return heard.cachedTokens;
        }

        Heard submit(int[] prompt, int most) {
            Heard heard = new Heard();
            engine.submit(new Generation(prompt, RequestOptions.of(most), false, clock.nanos(), heard));
            return heard;
        }

        void run() {
            boolean worked = true;
            while (worked) {
                worked = engine.step();
            }
        }
    }
}
