package io.holdfast.events;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The keywords of the wire that mean something to us; every other text is {@link #OTHER}. */
enum WireKeyword {
    BLOCK_STORED("BlockStored"),
    BLOCK_REMOVED("BlockRemoved"),
    ALL_BLOCKS_CLEARED("AllBlocksCleared"),

    TYPE("type"),
    BLOCK_HASHES("block_hashes"),
    PARENT_BLOCK_HASH("parent_block_hash"),
    TOKEN_IDS("token_ids"),
    BLOCK_SIZE("block_size"),
    LORA_ID("lora_id"),
    LORA_NAME("lora_name"),
    MEDIUM("medium"),
    CACHE_SALT("cache_salt"),
    EXTRA_KEYS("extra_keys"),
    GROUP_IDX("group_idx"),
    KV_CACHE_SPEC_KIND("kv_cache_spec_kind"),
    LOCALITY("locality"),

    TS("ts"),
    EVENTS("events"),
    DATA_PARALLEL_RANK("data_parallel_rank"),
    ATTN_DP_RANK("attn_dp_rank"),

    GPU("GPU"),
    CPU("CPU"),
    CPU_PINNED("CPU_PINNED"),
    CPU_TIER1("CPU_TIER1"),
    CPU_TIER2("CPU_TIER2"),
    DISK("DISK"),
    STORAGE("STORAGE"),
    REMOTE("REMOTE"),

    FULL_ATTENTION("full_attention"),
    MLA_ATTENTION("mla_attention"),
    SINK_FULL_ATTENTION("sink_full_attention"),
    UNKNOWN("unknown"),

    /** No text of the wire: the eighth element of an array, an adapter's name (vLLM) or a map of extras (SGLang). */
    NAME_OR_EXTRAS(""),
    /** No text of the wire: a nil where a word could stand. */
    NONE(""),
    OTHER("");

    /** No word is longer; three numbers of eight bytes cover it. */
    static final int LONGEST = 3 * Long.BYTES;

    private static final int SLOT_BITS = 8;
    private static final long SCATTER = 0x9E3779B97F4A7C15L;
    private static final WireKeyword[] SLOTS = slots();

    private final int length;
    private final long head;
    private final long middle;
    private final long tail;

    WireKeyword(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        length = bytes.length;
        head = headOf(bytes, 0, length);
        middle = middleOf(bytes, 0, length);
        tail = tailOf(bytes, 0, length);
    }

    /** The word that these bytes are; they must lie within the array. */
    static WireKeyword of(byte[] bytes, int from, int length) {
        if (length > LONGEST) {
            return OTHER;
        }
        long tail = tailOf(bytes, from, length);
        for (int slot = slot(tail, length); ; slot = (slot + 1) & (SLOTS.length - 1)) {
            WireKeyword word = SLOTS[slot];
            if (word == OTHER) {
                return OTHER;
            }
            if (word.tail == tail
                    && word.length == length
                    && word.head == headOf(bytes, from, length)
                    && word.middle == middleOf(bytes, from, length)) {
                return word;
            }
        }
    }

    private static WireKeyword[] slots() {
        WireKeyword[] slots = new WireKeyword[1 << SLOT_BITS];
        Arrays.fill(slots, OTHER);
        for (WireKeyword word : values()) {
            if (word.length == 0) {
                continue;
            }
            int slot = slot(word.tail, word.length);
            while (slots[slot] != OTHER) {
                slot = (slot + 1) & (slots.length - 1);
            }
            slots[slot] = word;
        }
        return slots;
    }

    private static int slot(long tail, int length) {
        return (int) (((tail + length) * SCATTER) >>> (Long.SIZE - SLOT_BITS));
    }

    private static long headOf(byte[] bytes, int from, int length) {
        return length > Long.BYTES ? BigEndian.longAt(bytes, from) : 0;
    }

    private static long middleOf(byte[] bytes, int from, int length) {
        return length > 2 * Long.BYTES ? BigEndian.longAt(bytes, from + Long.BYTES) : 0;
    }

    /** The last eight bytes, or all of them when there are fewer. */
    private static long tailOf(byte[] bytes, int from, int length) {
        int end = from + length;
        if (end < Long.BYTES) {
            long tail = 0;
            for (int i = from; i < end; i++) {
                tail = (tail << Byte.SIZE) | (bytes[i] & 0xff);
            }
            return tail;
        }
        long last = BigEndian.longAt(bytes, end - Long.BYTES);
        // What stands before a short text is shifted out.
        return length >= Long.BYTES ? last : last & ~(-1L << (length * Byte.SIZE));
    }
}
