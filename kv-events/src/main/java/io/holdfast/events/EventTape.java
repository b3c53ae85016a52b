package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.Arrays;

/**
 * The events of one frame, held back until the whole frame has been read.
 *
 * <p>Hashes and tokens of all events lie end to end in two arrays that grow to the largest frame and stay; an event knows
 * where its own end. A frame that names more than any cache holds is refused, so that they cannot grow without bound.
 */
final class EventTape {
    static final int MOST_EVENTS = 1 << 20;
    static final int MOST_BLOCKS = 1 << 22;
    static final int MOST_TOKENS = 1 << 24;

    enum Kind {
        STORED,
        REMOVED,
        CLEARED
    }

    /** One event, while it is read and until it is delivered. */
    static final class Event {
        Kind kind = Kind.CLEARED;
        Tier tier = Tier.GPU;
        boolean rooted;
        boolean windowed;
        boolean namespaced;
        boolean extras;
        /** True of pages that others may be joined to. */
        boolean pages;

        int group;
        int blockTokens;
        int hashEnd;
        int tokenEnd;
        long parent;
        long namespace;
        private boolean remote;

        void in(Tier where) {
            tier = remote ? Tier.EXTERNAL : where;
        }

        /** Marks blocks that another engine keeps, in whichever medium of its own. */
        void remote() {
            remote = true;
            tier = Tier.EXTERNAL;
        }

        private void begin(Kind what, int hashes, int tokens) {
            kind = what;
            tier = Tier.GPU;
            rooted = true;
            windowed = false;
            namespaced = false;
            extras = false;
            pages = false;
            group = 0;
            blockTokens = 0;
            hashEnd = hashes;
            tokenEnd = tokens;
            parent = 0;
            namespace = 0;
            remote = false;
        }
    }

    private Event[] events = new Event[0];
    private int count;
    private long[] hashes = new long[256];
    private int hashCount;
    private int[] tokens = new int[4096];
    private int tokenCount;
    /** Beside the hashes, where an event has any. */
    private long[] extras = new long[0];

    private long stampMicros;

    private final StoredBlocks stores = new StoredBlocks();

    void clear() {
        count = 0;
        hashCount = 0;
        tokenCount = 0;
        stampMicros = 0;
    }

    void stampMicros(long micros) {
        stampMicros = micros;
    }

    /** Begins an event; the one before is complete. */
    Event begin(Kind kind) throws FrameRefusal {
        if (count == events.length) {
            grow();
        }
        Event event = events[count++];
        event.begin(kind, hashCount, tokenCount);
        return event;
    }

    /** Takes as many hashes from the cursor; once an event. */
    void hashes(Event event, FrameCursor cursor, int blocks) throws FrameRefusal {
        if (blocks > hashes.length - hashCount) {
            hashes = Arrays.copyOf(hashes, grown(hashes.length, hashCount, blocks, MOST_BLOCKS, "blocks"));
        }
        cursor.hashes(hashes, hashCount, blocks);
        hashCount += blocks;
        event.hashEnd = hashCount;
    }

    /** Takes as many tokens from the cursor; once an event. */
    void tokens(Event event, FrameCursor cursor, int length) throws FrameRefusal {
        if (length > tokens.length - tokenCount) {
            tokens = Arrays.copyOf(tokens, grown(tokens.length, tokenCount, length, MOST_TOKENS, "tokens"));
        }
        cursor.tokens(tokens, tokenCount, length);
        tokenCount += length;
        event.tokenEnd = tokenCount;
    }

    /** Blocks of the event that was begun last. */
    int blocks() {
        return hashCount - firstHash();
    }

    /** Says what sets a block of the event that was begun last apart beside its tokens. */
    void extra(int block, long number) {
        Event event = events[count - 1];
        int from = firstHash();
        if (!event.extras) {
            event.extras = true;
            if (extras.length < hashCount) {
                extras = Arrays.copyOf(extras, hashes.length);
            }
            Arrays.fill(extras, from, hashCount, 0);
        }
        extras[from + block] = number;
    }

    /** Joins the store that was begun last to the one before it, if both are pages of one chain. */
    void endPage() {
        Event page = events[count - 1];
        int tokenFrom = count < 2 ? 0 : events[count - 2].tokenEnd;
        page.pages = blocks() == 1 && page.tokenEnd - tokenFrom == page.blockTokens;
        if (count > 1 && page.pages && follows(page, events[count - 2])) {
            Event chain = events[count - 2];
            chain.hashEnd = page.hashEnd;
            chain.tokenEnd = page.tokenEnd;
            count--;
        }
    }

    private boolean follows(Event page, Event chain) {
        return chain.pages
                && !page.rooted
                && page.parent == hashes[chain.hashEnd - 1]
                && page.tier == chain.tier
                && page.blockTokens == chain.blockTokens
                && page.namespaced == chain.namespaced
                && page.namespace == chain.namespace;
    }

    boolean beginsWithClear() {
        return count > 0 && events[0].kind == Kind.CLEARED;
    }

    void deliver(long sequence, KvEventSink sink) {
        sink.batchStarted(sequence, stampMicros);
        int hash = 0;
        int token = 0;
        for (int i = 0; i < count; i++) {
            Event event = events[i];
            switch (event.kind) {
                case STORED -> store(event, hash, token, sink);
                case REMOVED -> remove(event, hash, sink);
                case CLEARED -> sink.cleared();
            }
            hash = event.hashEnd;
            token = event.tokenEnd;
        }
        sink.batchEnded();
    }

    private void store(Event event, int hash, int token, KvEventSink sink) {
        if (event.hashEnd == hash) {
            return;
        }
        stores.reset()
                .hashes(hashes, hash, event.hashEnd - hash)
                .tokens(tokens, token, event.tokenEnd - token)
                .blockTokens(event.blockTokens)
                .in(event.tier)
                .group(event.group)
                .windowed(event.windowed)
                .namespaced(event.namespaced)
                .namespace(event.namespace);
        if (!event.rooted) {
            stores.under(event.parent);
        }
        if (event.extras) {
            stores.extras(extras, hash);
        }
        sink.stored(stores);
    }

    private void remove(Event event, int hash, KvEventSink sink) {
        if (event.hashEnd > hash) {
            sink.removed(hashes, hash, event.hashEnd, event.tier, event.group);
        }
    }

    private int firstHash() {
        return count < 2 ? 0 : events[count - 2].hashEnd;
    }

    private void grow() throws FrameRefusal {
        int before = events.length;
        events = Arrays.copyOf(events, grown(before, before, 1, MOST_EVENTS, "events"));
        for (int i = before; i < events.length; i++) {
            events[i] = new Event();
        }
    }

    /** The next length of an array that must take so many more; doubled, so that growing costs little in all. */
    private static int grown(int length, int used, int more, int most, String what) throws FrameRefusal {
        if (more > most - used) {
            throw new FrameRefusal("it names more than " + most + " " + what);
        }
        return Math.max(used + more, Math.min(most, Math.max(16, length << 1)));
    }
}
