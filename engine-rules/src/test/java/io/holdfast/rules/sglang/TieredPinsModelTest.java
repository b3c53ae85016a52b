package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Seeded sessions under constant eviction in both tiers: what is pinned stays, nothing of either pool gets lost. All that is
 * remembered beside the engine is a flat map of pinned blocks.
 */
class TieredPinsModelTest {
    private static final int PAGE = 16;
    private static final int CAPACITY = 40 * PAGE;
    private static final int STEPS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 20_000 : 1_500;

    /** Cut nodes stay pinned for good on this branch: after some thousand requests the host is full of them. */
    private static final int LIFE = 300;

    private final List<int[]> recent = new ArrayList<>();

    private static TestEngine engine() {
        return new TestEngine(
                SglangSettings.defaults()
                        .withSizes(CAPACITY, PAGE, 8192)
                        .withVariant(Variant.PIN_HOST)
                        .withHostRatio(3),
                Faults.none());
    }

    /** A new prompt, the next turn of a recent one, or a branch of it. */
    private int[] prompt(Random random) {
        int more = random.nextInt(1, 6 * PAGE);
        int[] begin = new int[0];
        if (!recent.isEmpty() && random.nextInt(4) > 0) {
            int[] before = recent.get(random.nextInt(recent.size()));
            begin = Arrays.copyOf(before, random.nextInt(before.length + 1));
        }
        int[] prompt = Arrays.copyOf(begin, Math.min(begin.length + more, 16 * PAGE));
        for (int i = begin.length; i < prompt.length; i++) {
            prompt[i] = random.nextInt(1_000_000);
        }
        recent.add(prompt);
        if (recent.size() > 12) {
            recent.removeFirst();
        }
        return prompt;
    }

    private static long[] names(int[] tokens) {
        TokenChain chain = new TokenChain(Namespace.PLAIN, "", PAGE).grow(tokens);
        return chain.names(0, chain.blocks());
    }

    private static Set<Long> resident(TestEngine engine) {
        return engine.engine.cache().residents().stream()
                .map(RadixCache.Resident::block)
                .collect(Collectors.toSet());
    }

    private static void assertPoolsAddUp(String step, TestEngine engine) {
        engine.assertSizesAddUp(step);
        HostTier host = engine.engine.cache().host();
        long onHost = engine.engine.cache().residents().stream()
                .filter(resident -> resident.node().onHost)
                .count();
        assertThat(host.freeTokens() + onHost * PAGE).as(step + ": host").isEqualTo(host.capacityTokens());
        assertThat(engine.engine.cache().residents())
                .as(step + ": nobody is below a block that is gone from his tier")
                .allSatisfy(resident -> {
                    RadixNode above = resident.node().parent();
                    assertThat(above.isRoot()
                                    || above.onGpu()
                                    || !resident.node().onGpu())
                            .isTrue();
                });
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void pinnedByName_staysUntilItIsUnpinned(long seed) {
        Random random = new Random(seed);
        TestEngine engine = engine();
        List<int[]> pins = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            if (step % LIFE == LIFE - 1) {
                engine = engine();
                pins.clear();
            }
            String name = "seed " + seed + " step " + step;
            int[] prompt = prompt(random);
            engine.cached(prompt);
            if (random.nextInt(20) == 0 && pins.size() < 5) {
                assertThat(engine.engine.pin(names(prompt)).count()).as(name).isEqualTo(names(prompt).length);
                pins.add(prompt);
            } else if (random.nextInt(30) == 0 && !pins.isEmpty()) {
                int[] oldest = pins.removeFirst();
                assertThat(engine.engine.unpin(names(oldest)).count()).as(name).isEqualTo(names(oldest).length);
            } else if (random.nextInt(200) == 0) {
                assertThat(engine.engine.flush()).as(name).isTrue();
            }
            for (int[] pin : pins) {
                assertThat(resident(engine))
                        .as(name)
                        .containsAll(Arrays.stream(names(pin)).boxed().toList());
            }
            assertPoolsAddUp(name, engine);
        }
    }
}
