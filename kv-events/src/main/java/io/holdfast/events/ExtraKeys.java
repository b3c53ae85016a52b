package io.holdfast.events;

import io.holdfast.core.hash.ContentNames;

/*
 * What sets the blocks of one store apart beside their tokens.
 *
 * SGLang says the salt, and nothing else, in every store. vLLM says the adapter's name, and lists keys for each block: the
 * adapter's name again, a pair of identifier and offset for each image that touches the block (once the identifier alone),
 * the salt in the first block of a prompt only, and digests of embeddings given in place of tokens, in this order. A salt
 * is therefore the last text among the keys of a prompt's first block that is not the adapter's name.
 *
 * Salt and adapter make the namespace, which matters where a prompt begins and is carried on by the chain of names; every
 * other key is an extra of its block. Lists of keys are read when the event is over, since the adapter's name may come
 * later; almost every list is empty, which is seen in passing.
 */

/** The adapter, the salt and the keys of each block of the store that is being read. */
final class ExtraKeys {
    private static final int NOWHERE = -1;

    private long adapterNumber;
    private long adapterName;
    private long salt;
    private int keysAt = NOWHERE;

    void clear() {
        adapterNumber = 0;
        adapterName = 0;
        salt = 0;
        keysAt = NOWHERE;
    }

    /** Takes the adapter's number, by which older engines told adapters apart. */
    void adapterNumber(FrameCursor cursor) throws FrameRefusal {
        adapterNumber = cursor.identity();
    }

    void adapterName(FrameCursor cursor) throws FrameRefusal {
        adapterName = cursor.identity();
    }

    void salt(FrameCursor cursor) throws FrameRefusal {
        salt = cursor.identity();
    }

    /** Takes the list of keys, one entry for each block. */
    void keys(FrameCursor cursor) throws FrameRefusal {
        if (!cursor.nils()) {
            keysAt = cursor.position();
            cursor.skip();
        }
    }

    /** Says it all of the event that was begun last, which is over. */
    void apply(FrameCursor cursor, EventTape tape, EventTape.Event event) throws FrameRefusal {
        if (keysAt != NOWHERE) {
            int end = cursor.position();
            cursor.seek(keysAt);
            event.namespaced = true;
            int entries = cursor.atArray() ? cursor.array() : 0;
            for (int block = 0; block < entries; block++) {
                long extra = extra(cursor, event.rooted && block == 0);
                if (extra != 0 && block < tape.blocks()) {
                    tape.extra(block, extra);
                }
            }
            cursor.seek(end);
        }
        event.namespace = ContentNames.namespace(salt, adapterName == 0 ? adapterNumber : adapterName);
    }

    /** The keys of one block as one number; a salt among them is put aside where there can be one. */
    private long extra(FrameCursor cursor, boolean salted) throws FrameRefusal {
        if (!cursor.atArray()) {
            return cursor.identity();
        }
        long all = 0;
        long allButText = 0;
        long text = 0;
        for (int keys = cursor.array(); keys > 0; keys--) {
            if (cursor.atText()) {
                long key = cursor.identity();
                if (key != 0 && key != adapterName) {
                    allButText = all;
                    all = joined(all, key);
                    text = key;
                }
            } else {
                long key = cursor.atArray() ? firstOf(cursor) : cursor.identity();
                allButText = joined(allButText, key);
                all = joined(all, key);
            }
        }
        if (salted && text != 0) {
            salt = text;
            return allButText;
        }
        return all;
    }

    /** The identifier of a pair; where the pair begins in its block follows from the tokens. */
    private static long firstOf(FrameCursor cursor) throws FrameRefusal {
        int elements = cursor.array();
        long first = elements == 0 ? 0 : cursor.identity();
        for (int i = 1; i < elements; i++) {
            cursor.skip();
        }
        return first;
    }

    private static long joined(long extra, long key) {
        if (extra == 0 || key == 0) {
            return extra | key;
        }
        return ContentNames.with(extra, key);
    }
}
