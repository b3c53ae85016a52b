package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** An engine in virtual time that is asked one thing at a time. */
final class TestEngine {
    final VirtualClock clock = new VirtualClock();
    final List<List<CacheEvent>> published = new ArrayList<>();
    final SglangEngine engine;
    private final Random random = new Random(7);

    TestEngine(SglangSettings settings, Faults faults) {
        engine = new SglangEngine(
                settings,
                faults,
                clock,
                new Gpu(new Speed(100, 5_000, 5_000, 1), faults, clock, () -> false),
                Model.seeded(1, 32_000),
                published::add,
                ElasticPool.OWN);
        runDry();
    }

    void runDry() {
        boolean worked = true;
        while (worked) {
            worked = engine.step();
        }
    }

    Heard serve(int[] prompt, RequestOptions terms) {
        Heard heard = new Heard();
        engine.submit(new Generation(prompt, terms, false, clock.nanos(), heard));
        runDry();
        return heard;
    }

    /** Asks for one token and tells how many tokens of the prompt were cached. */
    int cached(int[] prompt) {
        return serve(prompt, RequestOptions.of(1)).cachedTokens;
    }

    /** A prompt that shares nothing with another. */
    int[] fresh(int tokens) {
        return random.ints(tokens, 10, 1_000_000).toArray();
    }

    /** Serves prompts of 128 tokens that share nothing until so many tokens have passed. */
    void flood(int tokens, RequestOptions terms) {
        for (int sent = 0; sent < tokens; sent += 128) {
            serve(fresh(128), terms);
        }
    }

    void assertSizesAddUp(String step) {
        RadixCache cache = engine.cache();
        assertThat(cache.freeTokens() + cache.evictableTokens() + cache.protectedTokens())
                .as(step + ": free, evictable and protected")
                .isEqualTo(cache.capacityTokens());
    }
}
