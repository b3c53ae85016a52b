package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Tier;
import java.io.IOException;
import org.msgpack.core.MessageInsufficientBufferException;
import org.msgpack.core.MessagePackException;
import org.msgpack.value.ValueType;

/*
 * One decoder for every form in which SGLang and vLLM have published events.
 *
 * Forms. A batch is an array (time, events, rank) or, in one vLLM build, a map. An event is a map with its type among the
 * keys, or an array with its type first and its fields in the order in which engines have added them over the years; both
 * can stand in one batch. Fields that we do not know are skipped, array fields that are missing count as nil, an event of
 * a type that we do not know is counted and skipped. A hash is a signed integer (SGLang), an unsigned one (vLLM) or a
 * whole digest (vLLM on demand, folded to the same 64 bits). Speculative decoding in SGLang makes a token a pair: the
 * first of each pair is kept, so that tokens still number as many as the block size says.
 *
 * All or nothing. A frame is read to its last byte onto a tape before the sink hears of it. What a frame declares is never
 * believed: sizes are compared with the bytes left before anything is counted or grown, nesting is skipped in a loop.
 *
 * Cost. Tape, cursor and chain are reused; a frame costs a few small objects, a block costs none.
 */

/**
 * Turns a frame's payload into calls of a {@link KvEventSink}, whole or not at all.
 *
 * <p>For one thread. First {@link #read}, which says whether the payload is a batch, then {@link #deliver}; what must be
 * said between the two, such as a gap, can be said there.
 */
public final class KvEventDecoder {
    private static final Word[] STORED_ORDER = {
        Word.BLOCK_HASHES,
        Word.PARENT_BLOCK_HASH,
        Word.TOKEN_IDS,
        Word.BLOCK_SIZE,
        Word.LORA_ID,
        Word.MEDIUM,
        Word.NAME_OR_EXTRAS,
        Word.EXTRA_KEYS
    };
    private static final Word[] REMOVED_ORDER = {Word.BLOCK_HASHES, Word.MEDIUM};

    private final FrameCursor cursor = new FrameCursor();
    private final EventTape tape = new EventTape();
    private String refusal = "";
    private int unknownInFrame;
    private long unknownEvents;

    /** Reads a payload whole; when false, {@link #refusal} says why and there is nothing to deliver. */
    public boolean read(byte[] payload) {
        tape.clear();
        unknownInFrame = 0;
        refusal = "";
        try {
            cursor.open(payload);
            batch();
            if (!cursor.atEnd()) {
                throw new FrameRefusal("bytes follow the batch");
            }
            unknownEvents += unknownInFrame;
            return true;
        } catch (FrameRefusal e) {
            refusal = e.why();
        } catch (MessageInsufficientBufferException e) {
            refusal = "it ends in the middle of a value";
        } catch (MessagePackException e) {
            refusal = "a value is of another type than its place calls for";
        } catch (IOException e) {
            refusal = "it cannot be read: " + e;
        }
        tape.clear();
        return false;
    }

    /** Whether the batch that was read last owes nothing to those before it. */
    boolean beginsWithClear() {
        return tape.beginsWithClear();
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

    /** Why the last payload was refused; empty when it was not. */
    public String refusal() {
        return refusal;
    }

    /** Events of unknown type that were skipped since the beginning. */
    public long unknownEvents() {
        return unknownEvents;
    }

    private void batch() throws IOException {
        switch (cursor.next()) {
            case ARRAY -> {
                int elements = cursor.array();
                if (elements < 2) {
                    throw new FrameRefusal("the batch has no events");
                }
                cursor.skip();
                events();
                for (int i = 2; i < elements; i++) {
                    cursor.skip();
                }
            }
            case MAP -> {
                boolean seen = false;
                for (int entries = cursor.map(); entries > 0; entries--) {
                    if (cursor.word() != Word.EVENTS) {
                        cursor.skip();
                    } else if (seen) {
                        throw new FrameRefusal("the batch has its events twice");
                    } else {
                        events();
                        seen = true;
                    }
                }
                if (!seen) {
                    throw new FrameRefusal("the batch has no events");
                }
            }
            default -> throw new FrameRefusal("it is neither a list nor a map");
        }
    }

    private void events() throws IOException {
        for (int left = cursor.array(); left > 0; left--) {
            switch (cursor.next()) {
                case ARRAY -> arrayEvent();
                case MAP -> mapEvent();
                default -> throw new FrameRefusal("an event is neither a list nor a map");
            }
        }
    }

    private void arrayEvent() throws IOException {
        int elements = cursor.array();
        if (elements == 0) {
            throw new FrameRefusal("an event has no type");
        }
        Word type = cursor.word();
        Word[] order = type == Word.BLOCK_STORED ? STORED_ORDER : REMOVED_ORDER;
        boolean known = begin(type);
        for (int i = 1; i < elements; i++) {
            field(type, known && i <= order.length ? order[i - 1] : Word.OTHER);
        }
        if (known && type != Word.ALL_BLOCKS_CLEARED && elements < 2) {
            throw new FrameRefusal("an event names no blocks");
        }
    }

    private void mapEvent() throws IOException {
        int entries = cursor.map();
        int start = cursor.position();
        int taken = 0;
        Word type;
        if (entries > 0 && cursor.word() == Word.TYPE) {
            type = cursor.word();
            taken = 1;
        } else {
            cursor.seek(start);
            type = typeAmong(entries);
            cursor.seek(start);
        }
        boolean blocksMissing = begin(type) && type != Word.ALL_BLOCKS_CLEARED;
        boolean blocksSeen = false;
        for (int i = taken; i < entries; i++) {
            Word key = cursor.word();
            if (key == Word.BLOCK_HASHES) {
                if (blocksSeen) {
                    throw new FrameRefusal("an event names its blocks twice");
                }
                blocksSeen = true;
                blocksMissing = false;
            }
            field(type, key);
        }
        if (blocksMissing) {
            throw new FrameRefusal("an event names no blocks");
        }
    }

    /** For maps whose first key is not the type: engines write it first, but a map has no order. */
    private Word typeAmong(int entries) throws IOException {
        for (int i = 0; i < entries; i++) {
            if (cursor.word() == Word.TYPE) {
                return cursor.word();
            }
            cursor.skip();
        }
        throw new FrameRefusal("an event has no type");
    }

    /** Whether events of this type mean something to us. */
    private boolean begin(Word type) {
        switch (type) {
            case BLOCK_STORED -> {
                tape.begin();
                tape.isStore();
            }
            case BLOCK_REMOVED -> {
                tape.begin();
                tape.isRemoval();
            }
            case ALL_BLOCKS_CLEARED -> tape.begin();
            default -> {
                unknownInFrame++;
                return false;
            }
        }
        return true;
    }

    private void field(Word type, Word field) throws IOException {
        boolean stored = type == Word.BLOCK_STORED;
        if (stored || type == Word.BLOCK_REMOVED) {
            switch (field) {
                case BLOCK_HASHES -> {
                    hashes();
                    return;
                }
                case MEDIUM -> {
                    medium();
                    return;
                }
                default -> {
                    if (stored) {
                        storeField(field);
                        return;
                    }
                }
            }
        }
        cursor.skip();
    }

    private void storeField(Word field) throws IOException {
        switch (field) {
            case PARENT_BLOCK_HASH -> {
                if (!cursor.nil()) {
                    tape.parent(cursor.hash());
                }
            }
            case TOKEN_IDS -> tokens();
            case BLOCK_SIZE -> {
                if (!cursor.nil()) {
                    tape.blockTokens(cursor.count());
                }
            }
            case LORA_ID, LORA_NAME, CACHE_SALT -> namespacedIf(cursor.skipMeaning());
            case NAME_OR_EXTRAS -> nameOrExtras();
            case EXTRA_KEYS -> extraKeys();
            default -> cursor.skip();
        }
    }

    private void hashes() throws IOException {
        for (int left = cursor.array(); left > 0; left--) {
            tape.hash(cursor.hash());
        }
    }

    private void tokens() throws IOException {
        if (cursor.nil()) {
            return;
        }
        for (int left = cursor.array(); left > 0; left--) {
            if (cursor.next() == ValueType.ARRAY) {
                int pair = cursor.array();
                if (pair == 0) {
                    throw new FrameRefusal("a token is an empty list");
                }
                tape.token(cursor.token());
                for (int i = 1; i < pair; i++) {
                    cursor.skip();
                }
            } else {
                tape.token(cursor.token());
            }
        }
    }

    private void medium() throws IOException {
        if (cursor.nil()) {
            return;
        }
        tape.tier(
                switch (cursor.word()) {
                    case GPU -> Tier.GPU;
                    case CPU, CPU_PINNED, CPU_TIER1 -> Tier.HOST;
                    case CPU_TIER2, DISK, STORAGE -> Tier.DISK;
                    default -> Tier.EXTERNAL;
                });
    }

    private void nameOrExtras() throws IOException {
        if (cursor.next() != ValueType.MAP) {
            namespacedIf(cursor.skipMeaning());
            return;
        }
        for (int entries = cursor.map(); entries > 0; entries--) {
            if (cursor.word() == Word.CACHE_SALT) {
                namespacedIf(cursor.skipMeaning());
            } else {
                cursor.skip();
            }
        }
    }

    private void extraKeys() throws IOException {
        if (cursor.next() != ValueType.ARRAY) {
            namespacedIf(cursor.skipMeaning());
            return;
        }
        for (int blocks = cursor.array(); blocks > 0; blocks--) {
            namespacedIf(cursor.skipMeaning());
        }
    }

    private void namespacedIf(boolean something) {
        if (something) {
            tape.namespaced();
        }
    }
}
