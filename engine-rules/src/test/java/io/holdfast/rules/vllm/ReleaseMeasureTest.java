package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.EngineView;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import io.holdfast.rules.testing.Heard;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/**
 * What a release is said to have saved, against the same traffic without it: an engine's real rules play both in
 * virtual time, and the hits that differ are the truth.
 */
final class ReleaseMeasureTest {
    private static final long SECOND = 1_000_000_000L;
    private static final int BLOCK = 16;
    private static final int CAPACITY = 96;
    private static final int FINISHED = 24;
    private static final int LEASE = 120;
    private static final int RELEASED_AT = 30;
    /** When the hold of the other run is over. */
    private static final int OVER_AT = 112;

    private static final int SECONDS = 400;

    @Test
    void whatOthersFound_isWhatTheSameTrafficFindsLessWithoutTheRelease() {
        for (int seed = 1; seed <= 5; seed++) {
            Played released = new Played(seed, true, false);
            Played kept = new Played(seed, false, false);

            long found = 0;
            long lost = 0;
            for (int at = 0; at < kept.cached.size(); at++) {
                found += Math.max(0, released.cached.get(at) - kept.cached.get(at));
                lost += Math.max(0, kept.cached.get(at) - released.cached.get(at));
            }
            EngineView.GivenBack told = released.controller.view().released();
            assertThat(found).as("seed " + seed).isPositive();
            assertThat(told.holds()).isEqualTo(1);
            assertThat(told.tokens()).isEqualTo(FINISHED * BLOCK);
            assertThat(told.foundTokens().number()).as("seed " + seed).hasValue(found);
            assertThat(told.lostTokens().number()).as("seed " + seed).hasValue(lost);
            assertThat(kept.controller.view().released().foundTokens().number()).isEmpty();
        }
    }

    @Test
    void prefixThatWasGivenBackTooEarly_countsAsLost() {
        Played released = new Played(1, true, true);
        Played kept = new Played(1, false, true);

        long lost = 0;
        for (int at = 0; at < kept.cached.size(); at++) {
            lost += Math.max(0, kept.cached.get(at) - released.cached.get(at));
        }
        assertThat(lost).isGreaterThanOrEqualTo(FINISHED * BLOCK);
        assertThat(released.controller.view().released().lostTokens().number()).hasValue(lost);
    }

    @Test
    void holdThatOthersWant_staysAndIsTold() {
        Played played = new Played(1, false, false, 1);
        HoldView hold = played.hold("other");
        assertThat(hold.state()).isEqualTo(HoldState.HELD);

        GivenBack given = played.ask(played.controller.releaseOf("agent"));

        assertThat(given.ended()).isEmpty();
        assertThat(given.evictableTokens()).isZero();
        assertThat(given.wanted()).extracting(HoldView::id).containsExactly(hold.id());
        assertThat(played.ask(played.controller.releaseOf("agent")).wanted()).isEmpty();
        assertThat(played.engine.held()).hasSize(1);

        GivenBack last = played.ask(played.controller.releaseOf("other"));
        assertThat(last.evictableTokens()).isEqualTo(FINISHED * BLOCK);
        assertThat(last.ended()).extracting(HoldView::state).containsExactly(HoldState.RELEASED);
        assertThat(played.engine.held()).isEmpty();
    }

    /** One run of the traffic, through a controller that holds the prefix of an agent. */
    private static final class Played implements Backend {
        private final VirtualClock clock = new VirtualClock();
        private final Deque<Runnable> acting = new ArrayDeque<>();
        private final StoredBlocks chain = new StoredBlocks();
        private final List<Long> stored = new ArrayList<>();
        private final List<Integer> cached = new ArrayList<>();
        private final Random random;
        private final int[] finished;
        private final long[] names;
        private final VllmEngine engine;
        private final Controller controller;
        private long batches;
        private int calls;

        Played(int seed, boolean releases, boolean comesBack) {
            this(seed, releases, comesBack, SECONDS);
        }

        Played(int seed, boolean releases, boolean comesBack, int seconds) {
            random = new Random(seed);
            controller = new Controller(
                    new ControllerSettings(
                            "e",
                            ControllerSettings.defaults("e").budget(),
                            AutomaticHolds.OFF,
                            Duration.ofSeconds(60),
                            ControllerSettings.LEAST_SAVING,
                            Duration.ofMillis(100),
                            ControllerSettings.OWN_REQUESTS_AN_HOUR,
                            Optional.empty()),
                    RequestRules.vllm(),
                    Backends.only(this),
                    nowhere(),
                    acting::add,
                    new SplittableRandom(1));
            controller.engineIs(EngineIdentity.VOUCHED_FOR);
            engine = new VllmEngine(
                    VllmSettings.defaults()
                            .withSizes(CAPACITY + 1, BLOCK, 1_024)
                            .withBatch(4, 1_024)
                            .withConnector(
                                    Connector.of("a secret of this test alone").withMaxShare(0.5)),
                    Faults.none(),
                    clock,
                    new Gpu(new Speed(0, 0, 0, 1), Faults.none(), clock, () -> false),
                    Model.seeded(1, 1_000),
                    this::hear,
                    ElasticPool.OWN);
            finished = fresh(FINISHED * BLOCK);
            serve(finished, ordering(new HoldOrder.Hold("hold-1", 900)));
            names = stored.stream().mapToLong(Long::longValue).toArray();
            for (int i = 1; i <= 10; i++) {
                clock.await(i * SECOND / 5);
                round();
            }
            HoldView hold = hold("agent");
            assertThat(hold.state()).as(hold.reason()).isEqualTo(HoldState.HELD);
            play(releases, comesBack, seconds);
        }

        private static Ledger nowhere() {
            try {
                return new Ledger(new Nowhere());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void play(boolean releases, boolean comesBack, int seconds) {
            int[][] documents = new int[14][];
            for (int i = 0; i < documents.length; i++) {
                documents[i] = fresh((3 + random.nextInt(6)) * BLOCK);
            }
            for (int at = 0; at < seconds; at++) {
                clock.await((at + 10) * SECOND);
                round();
                if (at == RELEASED_AT && releases) {
                    GivenBack given = ask(controller.releaseOf("agent"));
                    assertThat(given.evictableTokens()).isEqualTo(FINISHED * BLOCK);
                }
                // The call that ends the hold takes a block, in both runs at both times.
                if (at == (releases ? OVER_AT : RELEASED_AT)) {
                    call(RequestOptions.of(1));
                }
                int[] document = documents[(int) Math.min(13, Math.abs(random.nextGaussian() * 6))];
                int[] question = fresh(BLOCK * (1 + random.nextInt(2)));
                cached.add(serve(Workload.joined(document, question), RequestOptions.of(1)));
                if (comesBack && at == RELEASED_AT + 60) {
                    cached.add(serve(Workload.joined(finished, fresh(2 * BLOCK)), RequestOptions.of(1)));
                }
            }
        }

        HoldView hold(String requester) {
            return ask(controller.request(
                    new HoldRequest(names, Arrays.copyOf(finished, FINISHED * BLOCK), Duration.ofSeconds(LEASE))
                            .by(requester)));
        }

        private <T> T ask(CompletionStage<T> asked) {
            CompletableFuture<T> answer = asked.toCompletableFuture();
            for (int i = 0; i < 100 && !answer.isDone(); i++) {
                round();
            }
            assertThat(answer).isCompleted();
            return answer.join();
        }

        private void round() {
            readings();
            controller.poll(clock.nanos());
            while (!acting.isEmpty()) {
                acting.remove().run();
            }
            controller.poll(clock.nanos());
        }

        private void readings() {
            EngineReadings.Builder all = EngineReadings.unknownBut("nobody asks");
            controller.readings(all.capacityTokens(number(CAPACITY * BLOCK))
                    .blockTokens(number(BLOCK))
                    .contextTokens(number(512))
                    .largestAcceptedTokens(number(512))
                    .runningRequests(number(0))
                    .waitingRequests(number(0))
                    .usedTokens(number(0))
                    .build());
        }

        private Reading number(double value) {
            return Reading.known(value, "the rules", clock.nanos());
        }

        private int[] fresh(int tokens) {
            return random.ints(tokens, 10, 1_000_000).toArray();
        }

        private int serve(int[] prompt, RequestOptions options) {
            Heard heard = new Heard();
            engine.submit(new Generation(prompt, options, true, clock.nanos(), heard));
            boolean worked = true;
            while (worked) {
                worked = engine.step();
            }
            return heard.cachedTokens;
        }

        private void call(RequestOptions options) {
            int[] block = new int[BLOCK];
            Arrays.fill(block, 2 + calls++);
            serve(block, options);
        }

        private void hear(List<CacheEvent> batch) {
            controller.events().batchStarted(batches++, clock.nanos() / 1_000);
            for (CacheEvent event : batch) {
                switch (event) {
                    case CacheEvent.Stored storing -> {
                        chain.reset().blockTokens(storing.blockTokens()).in(storing.tier());
                        storing.parent().ifPresent(parent -> chain.under(parent.hash()));
                        storing.blocks().forEach(block -> chain.add(block.hash()));
                        storing.blocks().forEach(block -> stored.add(block.hash()));
                        for (int at = 0; at < storing.tokens().size(); at++) {
                            chain.addToken(storing.tokens().get(at));
                        }
                        controller.events().stored(chain);
                    }
                    case CacheEvent.Removed removing -> {
                        long[] gone = removing.blocks().stream()
                                .mapToLong(BlockName::hash)
                                .toArray();
                        controller.events().removed(gone, 0, gone.length, Tier.GPU, 0);
                    }
                    case CacheEvent.Cleared _ -> controller.events().cleared();
                }
            }
            controller.events().batchEnded();
        }

        @Override
        public String name() {
            return "rules";
        }

        @Override
        public BackendTraits traits() {
            return BackendTraits.soft().endingByThemselves().withSilentRelease().needing(Need.TOKENS);
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            return CompletableFuture.completedFuture(new Capabilities(true, "The rules have a connector."));
        }

        @Override
        public String handle(PinCommand command) {
            return "hold-" + command.holdId();
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            assertThat(engine.held()).as("held since it was stored").containsKey(handle(command));
            return answered();
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            call(ordering(new HoldOrder.Release(handles)));
            return answered();
        }

        private static RequestOptions ordering(HoldOrder order) {
            return RequestOptions.of(1).withOrder(order);
        }

        private static CompletionStage<Outcome> answered() {
            return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "The rules did it."));
        }
    }

    private static final class Nowhere implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.of();
        }

        @Override
        public void append(LedgerLine line) {}

        @Override
        public void replaceWith(List<LedgerLine> lines) {}
    }
}
