package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.events.TestEngine.Form;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real publisher and the real loop with a wire between them that does harm, and restarts, by seed. */
@Timeout(600)
final class HostileWireTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final List<Tier> TIERS = List.of(Tier.GPU, Tier.HOST, Tier.DISK, Tier.EXTERNAL);
    private static final List<Form> FORMS = List.of(Form.values());
    private static final List<Dialect> DIALECTS = List.of(Dialect.values());

    @Test
    void atRestTheViewIsTheTruthOrSaysThatItIsUncertain() {
        int certain = 0;
        int runs = DEEP ? 500 : 30;
        for (int seed = 0; seed < runs; seed++) {
            try (Run run = new Run(seed)) {
                certain += run.run() ? 1 : 0;
            }
        }
        assertThat(certain).isGreaterThan(runs / 4);
    }

    private static final class Run implements AutoCloseable {
        private final int seed;
        private final SplittableRandom random;
        private final boolean replay;
        private final boolean recoverable;
        private final ModelCache cache;
        private final MirrorSink view = new MirrorSink();
        private final Cache tree = new BlockTree(BlockTree.Naming.ENGINE_HASH).addCache(CacheTraits.sglang());
        private final TestEngine engine;
        private final FaultyWire wire;
        private final FaultyWire replayWire;
        private final KvEventLoop loop = new KvEventLoop(this::now);
        private final Subscription subscription;
        private long skipped;

        Run(int seed) {
            this.seed = seed;
            this.random = new SplittableRandom(seed);
            this.replay = random.nextInt(5) > 0;
            boolean calmReplay = random.nextInt(3) > 0;
            boolean deepMemory = random.nextInt(3) > 0;
            this.recoverable = replay && calmReplay && deepMemory;
            this.cache = new ModelCache(
                    random.split(),
                    DIALECTS.get(random.nextInt(DIALECTS.size())),
                    deepMemory ? 10_000 : random.nextInt(1, 9));
            this.engine = new TestEngine(FORMS.get(random.nextInt(FORMS.size())), cache);
            this.wire = new FaultyWire(random.split(), false);
            this.replayWire = new FaultyWire(random.split(), calmReplay);
            lead();
            for (int i = random.nextInt(2) * random.nextInt(20); i > 0; i--) {
                engine.publish();
            }
            EventSource source = new EventSource(
                    wire.endpoint(),
                    replay ? Optional.of(replayWire.endpoint()) : Optional.empty(),
                    random.nextBoolean() ? TestEngine.TOPIC : "",
                    1,
                    false);
            this.subscription =
                    loop.subscribe(source, rank -> new BothSinks(view, tree)).getFirst();
        }

        boolean run() {
            for (int i = random.nextInt(40, 120); i > 0; i--) {
                step();
            }
            wire.calm();
            replayWire.calm();
            if (!replay || cache.remembersNothing() || random.nextBoolean()) {
                // Without replay, what is lost shows with the next batch only, and a subscriber must be there to get
                // it.
                until(subscription::connected);
                engine.publish();
            }
            rest();
            Map<Long, Integer> tiers = new HashMap<>();
            view.copies()
                    .forEach((tier, blocks) -> blocks.keySet()
                            .forEach(block -> tiers.merge(block, 1 << TIERS.indexOf(tier), Integer::sum)));
            Map<Long, Integer> held = new HashMap<>();
            tree.forEachHash(held::put);
            assertThat(held).as("seed %d, the tree", seed).isEqualTo(tiers);
            assertThat(tree.certain()).as("seed %d, the tree", seed).isEqualTo(view.certain());
            if (view.certain()) {
                assertThat(view.copies()).as("seed %d", seed).isEqualTo(cache.copies());
            } else {
                assertThat(view.within(cache.copies()))
                        .as("seed %d, uncertain", seed)
                        .isTrue();
                assertThat(recoverable)
                        .as("seed %d: all could be had again. %s", seed, subscription.lastReplayFailure())
                        .isFalse();
            }
            return view.certain();
        }

        private void step() {
            switch (random.nextInt(60)) {
                case 0 -> {
                    engine.restart();
                    lead();
                }
                case 1 -> wire.cut();
                case 2 -> replayWire.cut();
                case 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 -> loop.doWork(random.nextInt(20));
                case 13, 14, 15, 16, 17, 18, 19, 20 -> engine.serve();
                case 21, 22, 23, 24, 25, 26, 27, 28, 29, 30 -> loop.doWork(0);
                default -> engine.publish();
            }
        }

        private void lead() {
            wire.leadTo(engine.eventsPort());
            replayWire.leadTo(engine.replayPort());
            // The connections of a dead process end with it.
            wire.cut();
            replayWire.cut();
        }

        /** Until nothing is under way, the last batch was seen, and two silences found nothing new. */
        private void rest() {
            int silences = 0;
            int idleRounds = 0;
            boolean seen = false;
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (silences < 3) {
                assertThat(System.nanoTime())
                        .as("seed %d is not at rest: seen %s, recovering %s", seed, seen, subscription.recovering())
                        .isLessThan(deadline);
                idleRounds = loop.doWork(3) == 0 ? idleRounds + 1 : 0;
                engine.serve();
                seen |= view.holds(cache.mark().orElseThrow());
                if (idleRounds > 3 && subscription.connected() && !subscription.recovering()) {
                    idleRounds = 0;
                    if (seen || replay) {
                        silences = seen ? silences + 1 : 0;
                        skipped += TimeUnit.SECONDS.toNanos(40);
                    } else {
                        // The subscription took effect after the last batch was said.
                        engine.publish();
                    }
                } else if (idleRounds > 60 && !recoverable) {
                    skipped += TimeUnit.SECONDS.toNanos(6);
                }
            }
        }

        private void until(BooleanSupplier condition) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            while (!condition.getAsBoolean()) {
                assertThat(System.nanoTime()).as("seed %d: still waiting", seed).isLessThan(deadline);
                loop.doWork(3);
                engine.serve();
            }
        }

        private long now() {
            return System.nanoTime() + skipped;
        }

        @Override
        public void close() {
            loop.close();
            wire.close();
            replayWire.close();
            engine.close();
        }
    }
}
