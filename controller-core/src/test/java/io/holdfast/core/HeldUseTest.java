package io.holdfast.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.effect.PrefixUse;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.Hold;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.index.MemoryBudget;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.requests.RequestRules;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Which prompts go over held prefixes, and what of these they find. */
final class HeldUseTest {
    private static final int SIZE = 16;
    private static final PrefixUse NONE = new PrefixUse(0, 0, 0, 0);

    private final EngineObservers observers =
            new EngineObservers(RequestRules.vllm(), request -> false, true, MemoryBudget.unbounded(), rank -> {});
    private final HeldUse use = observers.heldUse();
    private long nanos = 1_000_000;
    private long sequence;

    private static Hold hold(long id, long first, int blocks) {
        return Hold.requested(
                id,
                HoldOrigin.REQUESTED,
                new HoldRequest(LongStream.range(first, first + blocks).toArray(), Duration.ofHours(1)),
                0,
                "asked for");
    }

    private void batch(long laterMillis, StoredBlocks chain) {
        events(laterMillis, () -> observers.first().stored(chain));
    }

    private void events(long laterMillis, Runnable told) {
        nanos += laterMillis * 1_000_000;
        observers.now(nanos);
        observers.first().batchStarted(sequence++, nanos / 1000);
        told.run();
        observers.first().batchEnded();
    }

    private static StoredBlocks chain(long first, int count) {
        StoredBlocks chain = new StoredBlocks().blockTokens(SIZE);
        for (int i = 0; i < count; i++) {
            chain.add(first + i);
        }
        return chain;
    }

    @Test
    void prompts_areCounted_byWhatWasHeldInTheRoundBefore() {
        batch(0, chain(1, 12));
        use.holding(List.of(hold(1, 1, 10)), 1);
        batch(60_000, chain(100, 4).under(10));
        assertThat(use.take()).as("its round began without it").isEqualTo(new PrefixUse(2, 0, 0, 0));
        use.holding(List.of(), 2);
        batch(60_000, chain(200, 4).under(10));
        batch(60_000, chain(300, 5));
        assertThat(use.take()).isEqualTo(new PrefixUse(2, 1, 14 * SIZE, 10 * SIZE));
        use.holding(List.of(), 3);
        batch(60_000, chain(400, 4).under(10));
        assertThat(use.take()).as("nothing was held in the round before").isEqualTo(new PrefixUse(1, 0, 0, 0));
        assertThat(use.take()).isEqualTo(NONE);
    }

    @Test
    void whatWasLost_isNotFound() {
        batch(0, chain(1, 12));
        use.holding(List.of(hold(1, 1, 10)), 1);
        use.holding(List.of(), 2);
        events(60_000, () -> observers.first().removed(new long[] {12, 11, 10, 9, 8}, 0, 5, Tier.GPU, 0));
        use.take();
        batch(60_000, chain(8, 8).under(7));
        assertThat(use.take()).isEqualTo(new PrefixUse(1, 1, 15 * SIZE, 7 * SIZE));
    }

    @Test
    void promptWhoseFirstPartEndsWithTheHeldPrefix_isOneUse() {
        use.holding(List.of(hold(1, 1, 80)), 1);
        use.holding(List.of(), 2);
        batch(0, chain(1, 80));
        assertThat(use.take()).isEqualTo(new PrefixUse(1, 1, 80 * SIZE, 0));
        batch(200, chain(81, 30).under(80));
        assertThat(use.take()).isEqualTo(new PrefixUse(0, 0, 30 * SIZE, 0));
    }

    @Test
    void heldPrefixWithinAnother_isCountedOnce() {
        batch(0, chain(1, 12));
        use.holding(List.of(hold(1, 1, 4), hold(2, 1, 10)), 1);
        use.holding(List.of(), 2);
        use.take();
        batch(60_000, chain(200, 4).under(10));
        assertThat(use.take()).isEqualTo(new PrefixUse(1, 1, 14 * SIZE, 10 * SIZE));
        batch(60_000, chain(300, 4).under(5));
        assertThat(use.take()).as("over the shorter one alone").isEqualTo(new PrefixUse(1, 1, 9 * SIZE, 4 * SIZE));
    }

    @Test
    void promptInParts_isOneUse() {
        use.holding(List.of(hold(1, 1, 40), hold(2, 1, 100)), 1);
        use.holding(List.of(), 2);
        batch(0, chain(1, 80));
        assertThat(use.take()).isEqualTo(new PrefixUse(1, 1, 80 * SIZE, 0));
        batch(200, chain(81, 30).under(80));
        assertThat(use.take()).isEqualTo(new PrefixUse(0, 0, 30 * SIZE, 0));
    }

    /** A tenth of the requests goes over a hold that may be let go, and finds it with holds alone. */
    @Test
    void effectOnThoseItIsFor_isSeenByEvents_thoughTimesAreAlike() {
        ControllerHarness own = ControllerHarness.ready(new ControllerSettings(
                "e",
                new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
                AutomaticHolds.OFF,
                Duration.ofHours(1),
                ControllerSettings.LEAST_SAVING,
                Duration.ofMillis(100),
                ControllerSettings.OWN_REQUESTS_AN_HOUR,
                Optional.of(EffectSettings.DEFAULTS.withWindow(Duration.ofSeconds(4)))));
        own.stored(7, 8);
        own.controller.request(new HoldRequest(new long[] {7, 8}, Duration.ofHours(1)).toBeMeasured());
        own.settle();
        assertThat(own.engine.pins).containsKey(8L);
        long next = 1_000;
        long last = 0;
        TtftEffect effect = own.controller.view().ttft();
        for (int second = 0; second < 100 && effect.state() == TtftEffect.State.UNPROVEN; second++) {
            boolean held = own.controller.view().holds().stream().anyMatch(hold -> hold.state() == HoldState.HELD);
            for (int request = 0; request < 20; request++) {
                own.controller.firstToken(FirstToken.of(0.2, 100));
                boolean user = request % 10 == 0;
                if (user && held) {
                    own.storedUnder(8, next);
                    own.removed(next++);
                } else if (user) {
                    own.removed(last, 8, 7);
                    last = next++;
                    own.stored(7, 8, last);
                } else {
                    own.stored(next);
                    own.removed(next++);
                }
            }
            own.pass(Duration.ofSeconds(1));
            effect = own.controller.view().ttft();
        }
        assertThat(effect.state())
                .as("%s, %s", effect, own.controller.view().holds())
                .isEqualTo(TtftEffect.State.PROVEN);
        assertThat(effect.reason())
                .isEqualTo("requests that use held prefixes, 10 % of all, compute fewer prompt tokens with holds");
        assertThat(effect.computed().orElseThrow().effectPercent().orElseThrow())
                .as("one block of three in place of all")
                .isCloseTo(-66.7, within(1.0));
    }
}
