package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The events of one frame, held back until the whole frame has been read.
 *
 * <p>Hashes and tokens of all events lie end to end in two arrays that grow to the largest frame and stay; an event knows
 * where its own end.
 */
final class EventTape {
    private enum Kind {
        STORED,
        REMOVED,
        CLEARED
    }

    private static final class Entry {
        Kind kind = Kind.CLEARED;
        Tier tier = Tier.GPU;
        boolean rooted;
        long parent;
        int blockTokens;
        boolean namespaced;
        int hashEnd;
        int tokenEnd;
    }

    private final List<Entry> entries = new ArrayList<>();
    private int count;
    private long[] hashes = new long[256];
    private int hashCount;
    private int[] tokens = new int[4096];
    private int tokenCount;

    private final StoredBlocks chain = new StoredBlocks();

    void clear() {
        count = 0;
        hashCount = 0;
        tokenCount = 0;
    }

    /** Begins an event; the one before is complete. */
    void begin() {
        if (count == entries.size()) {
            entries.add(new Entry());
        }
        Entry entry = entries.get(count++);
        entry.kind = Kind.CLEARED;
        entry.tier = Tier.GPU;
        entry.rooted = true;
        entry.parent = 0;
        entry.blockTokens = 0;
        entry.namespaced = false;
        entry.hashEnd = hashCount;
        entry.tokenEnd = tokenCount;
    }

    void isStore() {
        last().kind = Kind.STORED;
    }

    void isRemoval() {
        last().kind = Kind.REMOVED;
    }

    void hash(long hash) {
        if (hashCount == hashes.length) {
            hashes = Arrays.copyOf(hashes, hashCount << 1);
        }
        hashes[hashCount++] = hash;
        last().hashEnd = hashCount;
    }

    void token(int token) {
        if (tokenCount == tokens.length) {
            tokens = Arrays.copyOf(tokens, tokenCount << 1);
        }
        tokens[tokenCount++] = token;
        last().tokenEnd = tokenCount;
    }

    void parent(long hash) {
        last().rooted = false;
        last().parent = hash;
    }

    void blockTokens(int tokensPerBlock) {
        last().blockTokens = tokensPerBlock;
    }

    void tier(Tier tier) {
        last().tier = tier;
    }

    void namespaced() {
        last().namespaced = true;
    }

    boolean beginsWithClear() {
        return count > 0 && entries.getFirst().kind == Kind.CLEARED;
    }

    void deliver(long sequence, KvEventSink sink) {
        sink.batchStarted(sequence, 0);
        int hash = 0;
        int token = 0;
        for (int i = 0; i < count; i++) {
            Entry entry = entries.get(i);
            switch (entry.kind) {
                case STORED -> store(entry, hash, token, sink);
                case REMOVED -> remove(entry, hash, sink);
                case CLEARED -> sink.cleared();
            }
            hash = entry.hashEnd;
            token = entry.tokenEnd;
        }
        sink.batchEnded();
    }

    private void store(Entry entry, int hash, int token, KvEventSink sink) {
        if (entry.hashEnd == hash) {
            return;
        }
        chain.reset().blockTokens(entry.blockTokens).in(entry.tier).namespaced(entry.namespaced);
        if (!entry.rooted) {
            chain.under(entry.parent);
        }
        chain.hashes(hashes, hash, entry.hashEnd - hash).tokens(tokens, token, entry.tokenEnd - token);
        sink.stored(chain);
    }

    private void remove(Entry entry, int hash, KvEventSink sink) {
        if (entry.hashEnd == hash) {
            return;
        }
        sink.removed(hashes, hash, entry.hashEnd, entry.tier, 0);
    }

    private Entry last() {
        return entries.get(count - 1);
    }
}
