package io.holdfast.events;

/** The words of the wire that mean something to us; every other text is {@link #OTHER}. */
enum Word {
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
    EVENTS("events"),

    GPU("GPU"),
    CPU("CPU"),
    CPU_PINNED("CPU_PINNED"),
    CPU_TIER1("CPU_TIER1"),
    CPU_TIER2("CPU_TIER2"),
    DISK("DISK"),
    STORAGE("STORAGE"),

    /** No text of the wire: the eighth element of an array, an adapter's name (vLLM) or a map of extras (SGLang). */
    NAME_OR_EXTRAS(""),
    OTHER("");

    /** No word is longer. */
    static final int LONGEST = 24;

    private static final Word[] WORDS = values();

    private final String text;

    Word(String text) {
        this.text = text;
    }

    static Word of(byte[] bytes, int length) {
        for (Word word : WORDS) {
            if (length > 0 && length == word.text.length() && word.is(bytes)) {
                return word;
            }
        }
        return OTHER;
    }

    private boolean is(byte[] bytes) {
        for (int i = 0; i < text.length(); i++) {
            if (bytes[i] != text.charAt(i)) {
                return false;
            }
        }
        return true;
    }
}
