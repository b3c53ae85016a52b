package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.Tier;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The pins that keep blocks in the host tier: by name and count on one branch, by prefix and time in the release candidate. */
class TieredPinsTest {
    private static final int CAPACITY = 640;
    private static final int PAGE = 16;

    private final Faults faults = Faults.none();

    private TestEngine engine(Variant variant, double hostRatio) {
        SglangSettings settings = SglangSettings.defaults()
                .withSizes(CAPACITY, PAGE, 8192)
                .withVariant(variant)
                .withHostRatio(hostRatio);
        return new TestEngine(settings, faults);
    }

    private TestEngine byName() {
        return engine(Variant.PIN_HOST, 1);
    }

    private static long[] names(int[] prompt) {
        TokenChain chain = new TokenChain(Namespace.PLAIN, "", PAGE).grow(prompt);
        return chain.names(0, chain.blocks());
    }

    private static void flood(TestEngine engine) {
        engine.flood(6 * CAPACITY, RequestOptions.of(1));
    }

    private static int probe(TestEngine engine, int[] prompt) {
        return engine.cached(longer(prompt, 1));
    }

    private static int[] longer(int[] prompt, int more) {
        int[] longer = Arrays.copyOf(prompt, prompt.length + more);
        Arrays.fill(longer, prompt.length, longer.length, 7);
        return longer;
    }

    private static List<Tier> removedFrom(TestEngine engine, long block) {
        return engine.published.stream()
                .flatMap(List::stream)
                .filter(CacheEvent.Removed.class::isInstance)
                .map(CacheEvent.Removed.class::cast)
                .filter(removed -> removed.blocks().stream().anyMatch(name -> name.hash() == block))
                .map(CacheEvent.Removed::tier)
                .toList();
    }

    @Test
    void withoutAHostTier_bothCallsAreRefused() {
        PinAnswer refused = new PinAnswer(false, 0, "PIN requires --enable-hierarchical-cache");
        TestEngine named = engine(Variant.PIN_HOST, 0);
        assertThat(named.engine.pin(new long[] {1})).isEqualTo(refused);
        assertThat(named.engine.unpin(new long[] {1})).isEqualTo(refused);
    }

    @Test
    void gpuBranchWithAHostTier_knowsNoBlock() {
        TestEngine engine = engine(Variant.PIN_GPU, 1);
        int[] prompt = engine.fresh(64);
        engine.serve(prompt, RequestOptions.of(1));
        assertThat(engine.engine.pin(names(prompt))).isEqualTo(new PinAnswer(true, 0, "Pinned 0/4 blocks"));
    }

    @Test
    void byName_leavesTheGpu_staysOnTheHost_andComesBack() {
        TestEngine engine = byName();
        int[] prompt = engine.fresh(128);
        engine.serve(prompt, RequestOptions.of(1));
        assertThat(engine.engine.pin(names(prompt))).isEqualTo(new PinAnswer(true, 8, "Pinned 8/8 blocks"));
        assertThat(engine.engine.stats().protectedTokens()).isZero();
        flood(engine);
        assertThat(removedFrom(engine, names(prompt)[7])).containsExactly(Tier.GPU);
        assertThat(engine.serve(longer(prompt, 1), RequestOptions.of(1)).cachedTokens)
                .isEqualTo(128);
        assertThat(engine.engine.unpin(names(prompt))).isEqualTo(new PinAnswer(true, 8, "Unpinned 8/8 blocks"));
        flood(engine);
        assertThat(probe(engine, prompt)).isZero();
        assertThat(removedFrom(engine, names(prompt)[7])).containsExactly(Tier.GPU, Tier.GPU, Tier.HOST);
    }

    @Test
    void byName_unknownBlock_isNotCounted() {
        assertThat(byName().engine.pin(new long[] {1, 2})).isEqualTo(new PinAnswer(true, 0, "Pinned 0/2 blocks"));
    }

    @Test
    void byName_flush_keepsWhatIsPinned_andSaysNothingOfAClear() {
        TestEngine engine = byName();
        int[] prompt = engine.fresh(128);
        int[] other = engine.fresh(128);
        engine.serve(prompt, RequestOptions.of(1));
        engine.serve(other, RequestOptions.of(1));
        engine.engine.pin(names(prompt));
        engine.published.clear();
        assertThat(engine.engine.flush()).isTrue();
        assertThat(engine.published.stream().flatMap(List::stream)).noneMatch(CacheEvent.Cleared.class::isInstance);
        assertThat(probe(engine, other)).isZero();
        assertThat(probe(engine, prompt)).isEqualTo(128);
        engine.engine.unpin(names(prompt));
        engine.published.clear();
        engine.engine.flush();
        assertThat(engine.published).containsExactly(List.of(new CacheEvent.Cleared()));
    }

    @Test
    void byName_nodeCutWhilePinned_keepsItsUpperHalfForGood() {
        TestEngine engine = byName();
        int[] prompt = engine.fresh(128);
        engine.serve(prompt, RequestOptions.of(1));
        engine.engine.pin(names(prompt));
        engine.serve(longer(Arrays.copyOf(prompt, 64), 32), RequestOptions.of(1));
        assertThat(engine.engine.unpin(names(prompt)).count()).isEqualTo(8);
        flood(engine);
        assertThat(probe(engine, prompt)).isEqualTo(64);
    }

    @Test
    void byName_moreThanTheHostHolds_endsTheEngine_unlessItIsForgiving() {
        for (boolean forgiving : new boolean[] {false, true}) {
            TestEngine engine = engine(Variant.PIN_HOST, 0.4);
            if (forgiving) {
                faults.begin(new CacheFault.PinForgiving());
            }
            int[] first = engine.fresh(256);
            engine.serve(first, RequestOptions.of(1));
            int[] second = engine.fresh(256);
            engine.engine.pin(names(first));
            engine.serve(second, RequestOptions.of(1));
            engine.engine.pin(names(second));
            if (forgiving) {
                flood(engine);
                assertThat(probe(engine, first)).isEqualTo(256);
                assertThat(probe(engine, second)).isZero();
            } else {
                assertThatThrownBy(() -> flood(engine))
                        .isInstanceOf(EngineDeath.class)
                        .hasMessage("AssertionError");
            }
        }
    }

    @Test
    void released_pinsNothing() {
        TestEngine engine = engine(Variant.STOCK, 1);
        int[] prompt = engine.fresh(128);
        engine.serve(prompt, RequestOptions.of(1));
        assertThat(engine.engine.pin(names(prompt)).count()).isZero();
    }
}
