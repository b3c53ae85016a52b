package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.BLOCK;
import static io.holdfast.embed.ToldEngine.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hash.ContentNames;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.embed.ToldEngine.ContentOnly;
import io.holdfast.events.SglangBlockNames;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** Routing: no engine here holds anything. */
class FleetTest {
    private static final int[] PROMPT = tokens(100, 8);

    private final AtomicLong nanos = new AtomicLong(5);
    private final Fleet fleet = new Fleet(BLOCK, nanos::get);

    private Engine sglang(String id) {
        return fleet.add(EngineOptions.sglang(id));
    }

    @Test
    void match_findsOfEachEngineWhatItHasOfThePrompt() {
        Engine one = sglang("one");
        Engine two = fleet.add(EngineOptions.vllm("two"));
        Engine three = sglang("three");
        new ToldEngine(one.events()).stores(tokens(100, 3));
        new ToldEngine(two.events()).stores(Tier.GPU, 0, ContentOnly.YES, tokens(100, 6));

        PrefixMatch match = fleet.match(PROMPT);

        assertThat(match.blocks()).isEqualTo(8);
        assertThat(List.of(match.tokens(one), match.tokens(two), match.tokens(three)))
                .containsExactly(3 * BLOCK, 6 * BLOCK, 0);
        assertThat(match.longest()).containsSame(two);
    }

    @Test
    void longest_amongEquals_isTheOneThatWasAddedFirst() {
        Engine one = sglang("one");
        Engine two = sglang("two");
        new ToldEngine(two.events()).stores(PROMPT);
        new ToldEngine(one.events()).stores(PROMPT);

        assertThat(fleet.match(PROMPT).longest()).containsSame(one);
        assertThat(fleet.engines()).containsExactly(one, two);
        assertThat(fleet.engine("two")).containsSame(two);
    }

    @Test
    void match_nothingKnownOrShorterThanABlock_isNothing() {
        Engine one = sglang("one");
        new ToldEngine(one.events()).stores(PROMPT);

        for (int[] tokens : List.of(new int[0], tokens(100, 1000), tokens(7, 3), Arrays.copyOf(PROMPT, BLOCK - 1))) {
            PrefixMatch match = fleet.match(tokens);
            boolean begins = tokens.length > BLOCK && tokens[0] == 100;
            assertThat(match.tokens(one)).isEqualTo(begins ? PROMPT.length : 0);
            assertThat(match.longest().isPresent()).isEqualTo(begins);
            assertThat(match.blocks()).isEqualTo(tokens.length / BLOCK);
        }
    }

    @Test
    void match_byNames_findsTheSame() {
        Engine one = sglang("one");
        new ToldEngine(one.events()).stores(tokens(100, 5));
        long[] names = new long[9];
        ContentNames.names(PROMPT, 0, PROMPT.length, BLOCK, ContentNames.NO_NAMESPACE, names);
        System.arraycopy(names, 0, names, 1, 8);
        PrefixMatch match = new PrefixMatch();

        fleet.matchNames(names, 1, 8, match);
        assertThat(match.tokens(one)).isEqualTo(5 * BLOCK);
        assertThat(match.blocks()).isEqualTo(8);

        fleet.matchNames(names, 1, 2, match);
        assertThat(match.tokens(one)).isEqualTo(2 * BLOCK);
        assertThatThrownBy(() -> fleet.matchNames(names, 3, 7, match)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void match_inANamespace_findsOnlyWhatWasStoredThere() {
        Engine one = sglang("one");
        long salted = ContentNames.namespace("salt", "");
        StoredBlocks chain = new StoredBlocks().blockTokens(BLOCK).namespace(salted);
        for (long hash : SglangBlockNames.of(PROMPT, BLOCK, "salt")) {
            chain.add(hash);
        }
        Arrays.stream(PROMPT).forEach(chain::addToken);
        one.events().batchStarted(0, 1);
        one.events().stored(chain);
        one.events().batchEnded();
        PrefixMatch match = new PrefixMatch();

        fleet.match(PROMPT, 0, PROMPT.length, salted, match);
        assertThat(match.tokens(one)).isEqualTo(PROMPT.length);

        fleet.match(PROMPT, match);
        assertThat(match.tokens(one)).isZero();
    }

    @Test
    void tiers_countAsFarAsAsked() {
        Engine one = sglang("one");
        ToldEngine told = new ToldEngine(one.events());
        told.stores(PROMPT);
        told.stores(Tier.HOST, 0, PROMPT);
        told.removes(Tier.GPU, 4, PROMPT);
        told.stores(Tier.DISK, 0, PROMPT);
        told.removes(Tier.HOST, 6, PROMPT);

        PrefixMatch match = fleet.match(PROMPT);

        assertThat(List.of(match.tokens(one, Tier.GPU), match.tokens(one), match.tokens(one, Tier.DISK)))
                .containsExactly(4 * BLOCK, 6 * BLOCK, 8 * BLOCK);
    }

    @Test
    void ranks_haveCachesOfTheirOwn_andTheLongestCounts() {
        Engine one = sglang("one");
        new ToldEngine(one.events(2)).stores(tokens(100, 5));
        new ToldEngine(one.events(0)).stores(tokens(100, 2));

        PrefixMatch match = fleet.match(PROMPT);

        assertThat(match.tokens(one)).isEqualTo(5 * BLOCK);
        assertThat(List.of(
                        match.tokens(one, 0, Tier.GPU),
                        match.tokens(one, 1, Tier.GPU),
                        match.tokens(one, 2, Tier.GPU),
                        match.tokens(one, 3, Tier.GPU)))
                .containsExactly(2 * BLOCK, 0, 5 * BLOCK, 0);
    }

    @Test
    void removed_isFoundNoMore_andItsPlaceIsAnothers() throws Exception {
        Engine one = sglang("one");
        Engine two = sglang("two");
        new ToldEngine(one.events()).stores(PROMPT);
        new ToldEngine(two.events()).stores(tokens(100, 2));
        PrefixMatch before = fleet.match(PROMPT);

        CompletionStage<Released> gone = fleet.remove(one);
        assertThat(fleet.match(PROMPT).longest()).containsSame(two);
        assertThat(gone.toCompletableFuture()).isNotDone();
        fleet.doWork();

        assertThat(gone.toCompletableFuture().get()).isEqualTo(new Released(0, 0));
        assertThat(fleet.matched().blocks()).as("no memory is kept for it").isEqualTo(2);
        Engine again = sglang("one");
        new ToldEngine(again.events()).stores(tokens(100, 4));
        PrefixMatch match = fleet.match(PROMPT);
        assertThat(match.tokens(one)).isZero();
        assertThat(match.tokens(again)).isEqualTo(4 * BLOCK);
        assertThat(before.tokens(one)).as("an answer does not change").isEqualTo(PROMPT.length);
        assertThat(before.tokens(again)).isZero();
    }

    @Test
    void removed_twiceOrFromElsewhere_isToldSo() {
        Engine one = sglang("one");
        fleet.remove(one);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> fleet.remove(one))
                .withMessage("Engine one is not in this fleet, or not any more: it needs no removing.");
        assertThatIllegalStateException()
                .isThrownBy(one::events)
                .withMessage("Engine one answers nothing any more: it was removed from the fleet.");
    }

    @Test
    void add_anIdThatIsThere_isRefused_untilItIsGone() {
        Engine one = sglang("one");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> sglang("one"))
                .withMessageStartingWith("Engine one is in the fleet already");
        fleet.remove(one);
        assertThatIllegalArgumentException().isThrownBy(() -> sglang("one"));
        fleet.doWork();
        assertThat(sglang("one")).isNotSameAs(one);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EngineOptions.sglang(" "))
                .withMessage("An engine of a fleet needs an id: give it one that is not blank.");
    }

    @Test
    void blocksOfAnotherSize_areTold() {
        Engine one = sglang("one");
        StoredBlocks chain = new StoredBlocks().blockTokens(2 * BLOCK).add(1);
        Arrays.stream(tokens(100, 2)).forEach(chain::addToken);
        one.events().batchStarted(0, 1);
        one.events().stored(chain);
        one.events().batchEnded();

        assertThat(fleet.match(PROMPT).tokens(one)).isZero();
        assertThat(one.trouble())
                .hasValue(
                        "its blocks have 8 tokens and the fleet's have 4, so that nothing of it is found: start it with"
                                + " that page or block size, or a fleet of its own");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fleet(0))
                .withMessage("A block has at least one token, not 0.");
    }

    @Test
    void certainty_isThatOfItsCaches() {
        Engine one = sglang("one");
        assertThat(one.certain()).isFalse();
        assertThat(one.certainty()).isEqualTo("nobody has worked for the fleet since it was added");
        fleet.doWork();
        assertThat(one.certainty()).startsWith("no event was seen yet");

        new ToldEngine(one.events()).stores(PROMPT);
        assertThat(one.certain()).isTrue();

        assertThat(one.events(1)).isNotNull();
        assertThat(one.certain()).as("of two caches one was not heard").isFalse();
        assertThat(one.certainty()).startsWith("no event was seen yet");
    }

    @Test
    void engineThatIsOnlyRoutedTo_saysSoWhereAskedToHold() {
        Engine one = sglang("one");

        assertThat(one.hold(PROMPT, Lease.absolute(Duration.ofMinutes(1)))).isCompletedExceptionally();
        assertThatThrownBy(() -> one.explain(PROMPT).toCompletableFuture().get())
                .hasRootCauseInstanceOf(RejectedExecutionException.class)
                .hasRootCauseMessage(
                        "Engine one is only routed to: add it with a Holding to have prefixes held there.");
        assertThat(one.touched(PROMPT)).isFalse();
        assertThat(one.view()).isEmpty();
        assertThat(one.controller()).isEmpty();
    }

    @Test
    void endpointOfNoHost_isToldAndEndsNothing() {
        Engine deaf = fleet.add(EngineOptions.sglang("deaf").withEvents("tcp://nowhere.invalid:5557"));
        Engine one = sglang("one");
        fleet.doWork();
        new ToldEngine(one.events()).stores(PROMPT);

        // The name is looked up elsewhere, however long its server takes.
        String told = "The host of tcp://nowhere.invalid:5557 has no address";
        while (!deaf.trouble().orElseThrow().contains(told)) {
            fleet.doWork();
        }
        assertThat(fleet.match(PROMPT).longest()).containsSame(one);
        fleet.close();
    }

    @Test
    void eventsThatCannotBeApplied_endOneEngineInTheIndex() {
        Engine one = sglang("one");
        Engine two = sglang("two");
        ToldEngine told = new ToldEngine(one.events());
        told.stores(PROMPT);
        new ToldEngine(two.events()).stores(tokens(100, 2));

        // No engine has so many groups, and no frame with one is let through.
        told.removes(Tier.GPU, 0, 300, PROMPT);
        told.stores(PROMPT);

        assertThat(one.fault().orElseThrow()).startsWith("its events could not be applied (");
        assertThat(fleet.match(PROMPT).tokens(one)).isZero();
        assertThat(fleet.match(PROMPT).longest()).containsSame(two);
        assertThat(fleet.matched().blocks()).as("what it had is let go of").isEqualTo(2);
        assertThat(fleet.engines()).containsExactly(two);
        CompletionStage<Released> gone = fleet.remove(one);
        fleet.doWork();
        assertThat(gone.toCompletableFuture()).isCompleted();
        assertThat(sglang("one")).isNotSameAs(one);
    }

    @Test
    void close_isForGoodAndTwiceIsOnce() {
        Engine one = sglang("one");
        new ToldEngine(one.events()).stores(PROMPT);
        CompletionStage<Released> gone = fleet.remove(one);

        fleet.close();
        fleet.close();

        assertThat(gone.toCompletableFuture()).isCompleted();
        assertThat(fleet.match(PROMPT).longest()).isEmpty();
        assertThat(fleet.engines()).isEmpty();
        assertThatIllegalStateException()
                .isThrownBy(fleet::doWork)
                .withMessage("The fleet is closed: make another one.");
        assertThatIllegalStateException().isThrownBy(() -> sglang("two"));
        assertThatIllegalStateException().isThrownBy(one::events);
    }

    @Test
    void twoThreadsThatWork_areToldApart() throws Exception {
        HeldUpClock clock = new HeldUpClock();
        Fleet busy = new Fleet(BLOCK, clock);
        busy.add(EngineOptions.sglang("one"));
        CompletableFuture<Integer> first = CompletableFuture.supplyAsync(busy::doWork);
        clock.awaitReader();

        assertThatIllegalStateException()
                .isThrownBy(busy::doWork)
                .withMessage("Two threads work for this fleet at once, and only one may: let one of them stop.");
        busy.close();
        assertThat(busy.closed()).isTrue();
        clock.goOn();
        assertThat(first.get()).as("work under way comes to its end").isPositive();
        assertThat(busy.engines()).isEmpty();
    }
}
