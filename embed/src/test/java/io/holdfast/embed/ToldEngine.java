package io.holdfast.embed;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.SglangBlockNames;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArraySet;

/** An engine as a test tells of it: what it stores and removes, what its numbers are, and how it takes pins. */
final class ToldEngine implements Backend {
    static final int BLOCK = 4;

    private final KvEventSink events;
    private final StoredBlocks chain = new StoredBlocks();
    private long sequence;

    /** Last blocks that are pinned. */
    final Set<String> pinned = new CopyOnWriteArraySet<>();
    /** While set, unpins are answered by this alone. */
    volatile Optional<CompletableFuture<Outcome>> unpinLater = Optional.empty();

    volatile Optional<RuntimeException> broken = Optional.empty();

    ToldEngine(KvEventSink events) {
        this.events = events;
    }

    /** One that nobody hears, to pin at. */
    static ToldEngine silent() {
        return new ToldEngine(new KvEventSink() {
            @Override
            public void batchStarted(long sequence, long stampMicros) {}

            @Override
            public void stored(StoredBlocks stores) {}

            @Override
            public void removed(long[] hashes, int from, int to, Tier tier, int group) {}

            @Override
            public void cleared() {}

            @Override
            public void batchEnded() {}

            @Override
            public void gap(Gap gap) {}

            @Override
            public void restarted(long seen) {}
        });
    }

    static int[] tokens(int first, int blocks) {
        int[] tokens = new int[blocks * BLOCK];
        Arrays.setAll(tokens, i -> first + i);
        return tokens;
    }

    /** Stores a prompt in one batch, from its first block on. */
    void stores(int... tokens) {
        stores(Tier.GPU, 0, tokens);
    }

    /** Stores the rest of a prompt of which the first blocks are there. */
    void stores(Tier tier, int before, int... tokens) {
        stores(tier, before, ContentOnly.NO, tokens);
    }

    /** By hashes that mean nothing to anybody else, where asked. */
    enum ContentOnly {
        NO,
        YES
    }

    void stores(Tier tier, int before, ContentOnly hashes, int... tokens) {
        long[] names = names(hashes, tokens);
        chain.reset().blockTokens(BLOCK).in(tier);
        if (before > 0) {
            chain.under(names[before - 1]);
        }
        for (int i = before; i < names.length; i++) {
            chain.add(names[i]);
            for (int t = i * BLOCK; t < (i + 1) * BLOCK; t++) {
                chain.addToken(tokens[t]);
            }
        }
        batch(() -> events.stored(chain));
    }

    /** Removes the blocks of a prompt from this one on. */
    void removes(Tier tier, int from, int... tokens) {
        removes(tier, from, ContentOnly.NO, tokens);
    }

    void removes(Tier tier, int from, ContentOnly hashes, int... tokens) {
        long[] names = names(hashes, tokens);
        batch(() -> events.removed(names, from, names.length, tier, 0));
    }

    /** For a KV cache group of the engine's. */
    void removes(Tier tier, int from, int group, int... tokens) {
        long[] names = names(ContentOnly.NO, tokens);
        batch(() -> events.removed(names, from, names.length, tier, group));
    }

    void clears() {
        batch(events::cleared);
    }

    private void batch(Runnable event) {
        events.batchStarted(sequence, 1_000_000 * (1 + sequence));
        sequence++;
        event.run();
        events.batchEnded();
    }

    private static long[] names(ContentOnly hashes, int... tokens) {
        long[] names = SglangBlockNames.of(tokens, BLOCK);
        return hashes == ContentOnly.NO
                ? names
                : Arrays.stream(names).map(name -> ~name).toArray();
    }

    /** At rest, with room for so many tokens. */
    static EngineReadings readings(int capacityTokens, long nanos) {
        return EngineReadings.unknownBut("the test does not say")
                .capacityTokens(Reading.known(capacityTokens, "test", nanos))
                .blockTokens(Reading.known(BLOCK, "test", nanos))
                .contextTokens(Reading.known(64, "test", nanos))
                .largestAcceptedTokens(Reading.known(64, "test", nanos))
                .runningRequests(Reading.known(0, "test", nanos))
                .waitingRequests(Reading.known(0, "test", nanos))
                .usedTokens(Reading.known(0, "test", nanos))
                .build();
    }

    @Override
    public String name() {
        return "told";
    }

    @Override
    public BackendTraits traits() {
        return BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);
    }

    @Override
    public Optional<String> hindrance() {
        if (broken.isPresent()) {
            throw broken.get();
        }
        return Optional.empty();
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        return CompletableFuture.completedFuture(new Capabilities(true, "a test's"));
    }

    @Override
    public String handle(PinCommand command) {
        return Long.toString(command.lastBlock());
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        pinned.add(handle(command));
        return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.ACCEPTED, "pinned"));
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        if (unpinLater.isPresent()) {
            return unpinLater.get();
        }
        boolean all = pinned.containsAll(handles);
        pinned.removeAll(handles);
        return CompletableFuture.completedFuture(
                new Outcome(all ? Outcome.Kind.ACCEPTED : Outcome.Kind.MISSING, "unpinned"));
    }
}
