package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.EventTape.Event;
import io.holdfast.events.EventTape.Kind;

/*
 * One decoder for every form in which SGLang and vLLM have published events.
 *
 * Forms. A batch is an array (time, events, rank) or, in one vLLM build, a map. An event is a map with its type among
 * the keys, or an array with its type first and its fields in the order in which engines have added them over the
 * years; both can stand in one batch. Fields that we do not know are skipped, array fields that are missing count as
 * nil, an event of a type that we do not know is counted and skipped. A hash is a signed integer (SGLang), an unsigned
 * one (vLLM) or a whole digest (vLLM on demand, folded to the same 64 bits as its integers: the digest's last. SGLang's
 * integers are the first of theirs, but it has never sent a digest). Speculative decoding in SGLang makes a token a
 * pair: the first of each pair is kept, so that tokens still number as many as the block size says. An engine that
 * offloads may name blocks without their tokens, one with several groups may leave blocks out: the receiver compares
 * tokens with blocks.
 *
 * All or nothing. A frame is read to its last byte onto a tape before the sink hears of it. What a frame declares is
 * never believed: sizes are compared with the bytes left before anything is counted or grown, nesting is skipped in a
 * loop.
 *
 * Pages. Up to 0.5.17 SGLang announces each page of an insertion by itself, with the one before it as the parent; from
 * 0.5.18 on it joins what follows on its own tail. What it announced apart is joined here by its own rule, so that
 * nobody behind the decoder takes a page for a request. Such an event is an array of seven with one block in it. vLLM
 * has not written seven since it names adapters; before that, two of its requests of one step are joined where both
 * stored one block and the second went on where the first ended.
 *
 * Cost. Cursor, tape and chain are reused: neither a frame nor a block costs an object. A frame is read once, left to
 * right, except the rare keys that set blocks apart and maps that do not begin with their type.
 */

/**
 * Turns a frame's payload into calls of a {@link KvEventSink}, whole or not at all.
 *
 * <p>For one thread. First {@link #read}, which says whether the payload is a batch, then {@link #deliver}; what must
 * be said between the two, such as a gap, can be said there.
 */
public final class KvEventDecoder {
    private static final int NO_RANK = -1;
    private static final int ELEMENTS_OF_A_PAGE = 7;

    private static final WireKeyword[] STORED_ORDER = {
        WireKeyword.BLOCK_HASHES,
        WireKeyword.PARENT_BLOCK_HASH,
        WireKeyword.TOKEN_IDS,
        WireKeyword.BLOCK_SIZE,
        WireKeyword.LORA_ID,
        WireKeyword.MEDIUM,
        WireKeyword.NAME_OR_EXTRAS,
        WireKeyword.EXTRA_KEYS,
        WireKeyword.GROUP_IDX,
        WireKeyword.KV_CACHE_SPEC_KIND
    };
    private static final WireKeyword[] REMOVED_ORDER = {
        WireKeyword.BLOCK_HASHES, WireKeyword.MEDIUM, WireKeyword.GROUP_IDX
    };

    private final FrameCursor cursor = new FrameCursor();
    private final EventTape tape = new EventTape();
    private final ExtraKeys keys = new ExtraKeys();
    private String refusal = "";
    private int rank = NO_RANK;
    private int unknownInFrame;
    private long unknownEvents;
    /** True once the event that is being read has named its blocks and its tokens. */
    private boolean blocksSeen;

    private boolean tokensSeen;

    /** Reads a payload whole; when false, {@link #refusal} says why and there is nothing to deliver. */
    public boolean read(byte[] payload) {
        clear();
        refusal = "";
        cursor.open(payload);
        try {
            batch();
            if (!cursor.atEnd()) {
                throw new FrameRefusal("bytes follow the batch");
            }
            unknownEvents += unknownInFrame;
            return true;
        } catch (FrameRefusal e) {
            refusal = e.why();
            clear();
            return false;
        } finally {
            cursor.close();
        }
    }

    /** Returns true if the batch that was read last owes nothing to those before it. */
    boolean beginsWithClear() {
        return tape.beginsWithClear();
    }

    /** The data-parallel rank that the batch read last came from; -1 when it does not say. */
    public int rank() {
        return rank;
    }

    /** Hands over the batch that was read last. */
    public void deliver(long sequence, KvEventSink sink) {
        tape.deliver(sequence, sink);
    }

    /** Reads and delivers; false when the payload was refused, of which the sink hears nothing. */
    public boolean decode(byte[] payload, long sequence, KvEventSink sink) {
        boolean whole = read(payload);
        if (whole) {
            deliver(sequence, sink);
        }
        return whole;
    }

    /** Reason why the last payload was refused; empty when it was not. */
    public String refusal() {
        return refusal;
    }

    /** Events of unknown type that were skipped since the beginning. */
    public long unknownEvents() {
        return unknownEvents;
    }

    private void clear() {
        tape.clear();
        rank = NO_RANK;
        unknownInFrame = 0;
    }

    private void batch() throws FrameRefusal {
        if (cursor.atArray()) {
            int elements = cursor.array();
            if (elements < 2) {
                throw new FrameRefusal("the batch has no events");
            }
            tape.stampMicros(cursor.micros());
            events();
            for (int i = 2; i < elements; i++) {
                if (i == 2) {
                    rank = cursor.rank();
                } else {
                    cursor.skip();
                }
            }
        } else if (cursor.atMap()) {
            batchMap();
        } else {
            throw new FrameRefusal("it is neither a list nor a map");
        }
    }

    private void batchMap() throws FrameRefusal {
        boolean found = false;
        for (int entries = cursor.map(); entries > 0; entries--) {
            switch (cursor.word()) {
                case EVENTS -> {
                    if (found) {
                        throw new FrameRefusal("the batch has its events twice");
                    }
                    found = true;
                    events();
                }
                case TS -> tape.stampMicros(cursor.micros());
                case DATA_PARALLEL_RANK, ATTN_DP_RANK -> rank = cursor.rank();
                default -> cursor.skip();
            }
        }
        if (!found) {
            throw new FrameRefusal("the batch has no events");
        }
    }

    private void events() throws FrameRefusal {
        for (int left = cursor.array(); left > 0; left--) {
            blocksSeen = false;
            tokensSeen = false;
            if (cursor.atMap()) {
                mapEvent();
            } else if (cursor.atArray()) {
                arrayEvent();
            } else {
                throw new FrameRefusal("an event is neither a list nor a map");
            }
        }
    }

    private void arrayEvent() throws FrameRefusal {
        int elements = cursor.array();
        if (elements == 0) {
            throw new FrameRefusal("an event has no type");
        }
        switch (cursor.word()) {
            case BLOCK_STORED -> {
                Event event = beginStore();
                for (int i = 1; i < elements; i++) {
                    storedField(event, i <= STORED_ORDER.length ? STORED_ORDER[i - 1] : WireKeyword.OTHER);
                }
                endStore(event);
                if (elements == ELEMENTS_OF_A_PAGE) {
                    tape.endPage();
                }
            }
            case BLOCK_REMOVED -> {
                Event event = tape.begin(Kind.REMOVED);
                for (int i = 1; i < elements; i++) {
                    removedField(event, i <= REMOVED_ORDER.length ? REMOVED_ORDER[i - 1] : WireKeyword.OTHER);
                }
                requireBlocks();
            }
            case ALL_BLOCKS_CLEARED -> {
                tape.begin(Kind.CLEARED);
                skip(elements - 1);
            }
            default -> {
                unknownInFrame++;
                skip(elements - 1);
            }
        }
    }

    private void mapEvent() throws FrameRefusal {
        int entries = cursor.map();
        int start = cursor.position();
        int left = entries;
        WireKeyword type;
        if (entries > 0 && cursor.word() == WireKeyword.TYPE) {
            type = cursor.word();
            left--;
        } else {
            cursor.seek(start);
            type = typeAmong(entries);
            cursor.seek(start);
        }
        switch (type) {
            case BLOCK_STORED -> {
                Event event = beginStore();
                while (left-- > 0) {
                    storedField(event, cursor.word());
                }
                endStore(event);
            }
            case BLOCK_REMOVED -> {
                Event event = tape.begin(Kind.REMOVED);
                while (left-- > 0) {
                    removedField(event, cursor.word());
                }
                requireBlocks();
            }
            case ALL_BLOCKS_CLEARED -> {
                tape.begin(Kind.CLEARED);
                skip(2 * left);
            }
            default -> {
                unknownInFrame++;
                skip(2 * left);
            }
        }
    }

    /** For maps whose first key is not the type: engines write it first, but a map has no order. */
    private WireKeyword typeAmong(int entries) throws FrameRefusal {
        for (int i = 0; i < entries; i++) {
            if (cursor.word() == WireKeyword.TYPE) {
                return cursor.word();
            }
            cursor.skip();
        }
        throw new FrameRefusal("an event has no type");
    }

    private Event beginStore() throws FrameRefusal {
        keys.clear();
        return tape.begin(Kind.STORED);
    }

    private void endStore(Event event) throws FrameRefusal {
        requireBlocks();
        keys.apply(cursor, tape, event);
    }

    private void requireBlocks() throws FrameRefusal {
        if (!blocksSeen) {
            throw new FrameRefusal("an event names no blocks");
        }
    }

    private void removedField(Event event, WireKeyword field) throws FrameRefusal {
        switch (field) {
            case BLOCK_HASHES -> hashes(event);
            case MEDIUM -> event.in(tier(cursor.word()));
            case GROUP_IDX -> event.group = group();
            case LOCALITY -> locality(event);
            default -> cursor.skip();
        }
    }

    private void storedField(Event event, WireKeyword field) throws FrameRefusal {
        switch (field) {
            case BLOCK_HASHES -> hashes(event);
            case PARENT_BLOCK_HASH -> {
                if (!cursor.nil()) {
                    event.rooted = false;
                    event.parent = cursor.hash();
                }
            }
            case TOKEN_IDS -> tokens(event);
            case BLOCK_SIZE -> event.blockTokens = cursor.count("block size");
            case MEDIUM -> event.in(tier(cursor.word()));
            case LORA_ID -> keys.adapterNumber(cursor);
            case LORA_NAME -> keys.adapterName(cursor);
            case NAME_OR_EXTRAS -> nameOrExtras();
            case EXTRA_KEYS -> keys.keys(cursor);
            case CACHE_SALT -> keys.salt(cursor);
            case GROUP_IDX -> event.group = group();
            case KV_CACHE_SPEC_KIND -> event.windowed = windowed(cursor.word());
            case LOCALITY -> locality(event);
            default -> cursor.skip();
        }
    }

    private void hashes(Event event) throws FrameRefusal {
        if (blocksSeen) {
            throw new FrameRefusal("an event names its blocks twice");
        }
        blocksSeen = true;
        tape.hashes(event, cursor, cursor.array());
    }

    private void tokens(Event event) throws FrameRefusal {
        if (tokensSeen) {
            throw new FrameRefusal("an event names its tokens twice");
        }
        tokensSeen = true;
        if (!cursor.nil()) {
            tape.tokens(event, cursor, cursor.array());
        }
    }

    private void locality(Event event) throws FrameRefusal {
        if (cursor.word() == WireKeyword.REMOTE) {
            event.remote();
        }
    }

    /** No model has hundreds, and each costs its follower a table. */
    private int group() throws FrameRefusal {
        int group = cursor.count("group");
        if (group > StoredBlocks.LAST_GROUP) {
            throw new FrameRefusal(
                    "a KV cache group has the number " + group + "; none is above " + StoredBlocks.LAST_GROUP);
        }
        return group;
    }

    private static boolean windowed(WireKeyword kind) {
        return switch (kind) {
            case NONE, UNKNOWN, FULL_ATTENTION, MLA_ATTENTION, SINK_FULL_ATTENTION -> false;
            default -> true;
        };
    }

    private static Tier tier(WireKeyword medium) {
        return switch (medium) {
            case NONE, GPU -> Tier.GPU;
            case CPU, CPU_PINNED, CPU_TIER1 -> Tier.HOST;
            case CPU_TIER2, DISK, STORAGE -> Tier.DISK;
            default -> Tier.EXTERNAL;
        };
    }

    private void nameOrExtras() throws FrameRefusal {
        if (!cursor.atMap()) {
            keys.adapterName(cursor);
            return;
        }
        for (int entries = cursor.map(); entries > 0; entries--) {
            if (cursor.word() == WireKeyword.CACHE_SALT) {
                keys.salt(cursor);
            } else {
                cursor.skip();
            }
        }
    }

    private void skip(int values) throws FrameRefusal {
        for (int i = 0; i < values; i++) {
            cursor.skip();
        }
    }
}
