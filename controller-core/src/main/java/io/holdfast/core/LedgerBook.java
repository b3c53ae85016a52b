package io.holdfast.core;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ledger as it is written: which holds may have which blocks pinned, kept short by forgetting what was released.
 *
 * <p>Used by one thread at a time. The entry with the largest hold id survives every compaction, so ids are never used
 * twice.
 */
final class LedgerBook {
    private static final Logger LOG = LoggerFactory.getLogger(LedgerBook.class);
    private static final int COMPACT_AFTER = 10_000;

    /** One hold may have an old block on its way out while a new one is pinned. */
    private record Key(long holdId, long block) {}

    private final LedgerStore store;
    private final Map<Key, LedgerEntry> outstanding = new LinkedHashMap<>();
    private long largestId;
    private int appended;

    LedgerBook(LedgerStore store) throws IOException {
        this.store = store;
        List<LedgerEntry> entries = store.read();
        entries.forEach(this::note);
        if (!entries.isEmpty()) {
            compact();
        }
    }

    /** What may be pinned, oldest first. */
    List<LedgerEntry> outstanding() {
        return List.copyOf(outstanding.values());
    }

    /** The largest hold id ever written; 0 when none was. */
    long largestId() {
        return largestId;
    }

    /** Durable when it returns. */
    void append(LedgerEntry entry) throws IOException {
        store.append(entry);
        note(entry);
        if (++appended >= COMPACT_AFTER) {
            try {
                compact();
            } catch (IOException e) {
                LOG.warn("The ledger could not be shortened and goes on growing: {}", e.getMessage());
            }
        }
    }

    private void note(LedgerEntry entry) {
        Key key = new Key(entry.holdId(), entry.lastBlock());
        if (entry.step() == LedgerEntry.Step.RELEASED) {
            outstanding.remove(key);
        } else {
            outstanding.put(key, entry);
        }
        largestId = Math.max(largestId, entry.holdId());
    }

    private void compact() throws IOException {
        appended = 0;
        List<LedgerEntry> kept = new ArrayList<>(outstanding.values());
        if (kept.stream().noneMatch(entry -> entry.holdId() == largestId)) {
            kept.add(new LedgerEntry(LedgerEntry.Step.RELEASED, largestId, HoldOrigin.REQUESTED, 0, 0));
            kept.sort(Comparator.comparingLong(LedgerEntry::holdId));
        }
        store.replaceWith(kept);
    }
}
