package io.holdfast.events;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * Writes batches of events as an engine would publish them: the other half of the codec, for emulated engines.
 *
 * <p>Events collect until {@link #finish}, which gives the payload of one frame and starts the next. A chain carries
 * numbers only; what else an event says of its blocks comes as {@link Details}.
 */
public final class KvEventEncoder {
    /** Form of one engine's events, in one of its two generations. */
    public enum Dialect {
        /** SGLang since September 2026: events are tagged maps. */
        SGLANG_MAPS,
        /** SGLang before: events are arrays, a salt makes an eighth element. */
        SGLANG_ARRAYS,
        /** vLLM since 0.24: events are tagged maps. */
        VLLM_MAPS,
        /** vLLM up to 0.22: events are arrays. */
        VLLM_ARRAYS,
        /** TensorRT-LLM since August 2026: tagged maps, which omit what has no value, with SGLang's signed hashes. */
        TENSORRT_LLM;

        private boolean vllm() {
            return this == VLLM_MAPS || this == VLLM_ARRAYS;
        }

        /**
         * Returns true if events are tagged maps; these releases also name the topic where they repeat past batches.
         */
        public boolean maps() {
            return this == SGLANG_MAPS || this == VLLM_MAPS || this == TENSORRT_LLM;
        }
    }

    /**
     * Details that a store's event has beside the chain.
     *
     * @param salt of the prompt, empty for none; vLLM says it only where a prompt begins
     * @param session of the request that stored the blocks, empty for none; vLLM says it in maps only
     * @param digests whole names of the blocks, in place of the chain's numbers, or none (vLLM)
     * @param parent the whole name of the block that the first one follows, with digests
     */
    public record Details(String salt, String session, List<byte[]> digests, Optional<byte[]> parent) {
        public static final Details NONE = new Details("", "", List.of(), Optional.empty());

        public Details {
            digests = List.copyOf(digests);
        }

        public static Details salt(String salt) {
            return new Details(salt, "", List.of(), Optional.empty());
        }
    }

    private final Dialect dialect;
    private final MessageBufferPacker events = MessagePack.newDefaultBufferPacker();
    private final MessageBufferPacker batch = MessagePack.newDefaultBufferPacker();
    private final byte[] unsigned = new byte[1 + Long.BYTES];
    private int count;

    public KvEventEncoder(Dialect dialect) {
        this.dialect = dialect;
        unsigned[0] = MessagePack.Code.UINT64;
    }

    public void stored(StoredBlocks stores) {
        stored(stores, Details.NONE);
    }

    public void stored(StoredBlocks stores, Details details) {
        write(() -> {
            if (dialect.maps()) {
                storedMap(stores, details);
            } else {
                storedArray(stores, details);
            }
        });
    }

    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        write(() -> removed(() -> hashes(hashes, from, to), tier, group));
    }

    /** Announces a removal by whole names (vLLM). */
    public void removed(List<byte[]> digests, Tier tier, int group) {
        write(() -> removed(() -> digests(digests), tier, group));
    }

    public void cleared() {
        write(() -> {
            if (dialect.maps()) {
                events.packMapHeader(1);
                text("type").text("AllBlocksCleared");
            } else {
                events.packArrayHeader(1);
                text("AllBlocksCleared");
            }
        });
    }

    public boolean isEmpty() {
        return count == 0;
    }

    /** The payload of a frame with all events since the last call; the next event begins another frame. */
    public byte[] finish(double unixSeconds, int rank) {
        try {
            batch.clear();
            batch.packArrayHeader(3).packDouble(unixSeconds).packArrayHeader(count);
            batch.writePayload(events.toByteArray());
            batch.packInt(rank);
            events.clear();
            count = 0;
            return batch.toByteArray();
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    private void removed(Part blocks, Tier tier, int group) throws IOException {
        if (dialect.maps()) {
            events.packMapHeader(dialect.vllm() ? 4 : 3);
            text("type").text("BlockRemoved").text("block_hashes");
            blocks.write();
            text("medium").medium(tier);
            if (dialect.vllm()) {
                text("group_idx").events.packInt(group);
            }
        } else {
            events.packArrayHeader(dialect.vllm() ? 4 : 3);
            text("BlockRemoved");
            blocks.write();
            medium(tier);
            if (dialect.vllm()) {
                events.packInt(group);
            }
        }
    }

    private void storedMap(StoredBlocks stores, Details details) throws IOException {
        events.packMapHeader(
                switch (dialect) {
                    case VLLM_MAPS, VLLM_ARRAYS -> 11 + session(details);
                    case TENSORRT_LLM -> 8;
                    case SGLANG_MAPS, SGLANG_ARRAYS -> 7 + salt(details) + session(details);
                });
        text("type").text("BlockStored").text("block_hashes").hashes(stores, details);
        text("parent_block_hash").parent(stores, details);
        text("token_ids").tokens(stores);
        text("block_size").events.packInt(stores.blockTokens());
        text("lora_id").events.packNil();
        text("medium").medium(stores.tier());
        if (dialect.vllm()) {
            text("lora_name").events.packNil();
            text("extra_keys").extraKeys(stores, details.salt());
            text("group_idx").events.packInt(stores.group());
            text("kv_cache_spec_kind").text(kind(stores));
            if (session(details) > 0) {
                text("session_id").text(details.session());
            }
        } else if (dialect == Dialect.TENSORRT_LLM) {
            // It names neither a salt nor a session: a salt shows in the names of the blocks alone.
            text("lora_name").events.packNil();
        } else {
            namespace(details);
        }
    }

    private void storedArray(StoredBlocks stores, Details details) throws IOException {
        int said = salt(details) + session(details);
        events.packArrayHeader(dialect.vllm() ? 12 : 7 + Math.min(1, said));
        text("BlockStored").hashes(stores, details).parent(stores, details).tokens(stores);
        events.packInt(stores.blockTokens()).packNil();
        medium(stores.tier());
        if (dialect.vllm()) {
            events.packNil();
            extraKeys(stores, details.salt());
            events.packInt(stores.group());
            text(kind(stores));
            events.packNil();
        } else if (said > 0) {
            events.packMapHeader(said);
            namespace(details);
        }
    }

    /** Writes the fields that SGLang omits where they would be empty. */
    private void namespace(Details details) throws IOException {
        if (salt(details) > 0) {
            text("cache_salt").text(details.salt());
        }
        if (session(details) > 0) {
            text("session_id").text(details.session());
        }
    }

    private static int salt(Details details) {
        return details.salt().isEmpty() ? 0 : 1;
    }

    private static int session(Details details) {
        return details.session().isEmpty() ? 0 : 1;
    }

    private static String kind(StoredBlocks stores) {
        return stores.windowed() ? "sliding_window" : "full_attention";
    }

    private KvEventEncoder text(String value) throws IOException {
        events.packString(value);
        return this;
    }

    private KvEventEncoder hashes(StoredBlocks stores, Details details) throws IOException {
        if (!details.digests().isEmpty()) {
            digests(details.digests());
            return this;
        }
        events.packArrayHeader(stores.count());
        for (int i = 0; i < stores.count(); i++) {
            hash(stores.hash(i));
        }
        return this;
    }

    private void hashes(long[] hashes, int from, int to) throws IOException {
        events.packArrayHeader(to - from);
        for (int i = from; i < to; i++) {
            hash(hashes[i]);
        }
    }

    private void digests(List<byte[]> digests) throws IOException {
        events.packArrayHeader(digests.size());
        for (byte[] digest : digests) {
            digest(digest);
        }
    }

    private void digest(byte[] digest) throws IOException {
        events.packBinaryHeader(digest.length).writePayload(digest);
    }

    private KvEventEncoder parent(StoredBlocks stores, Details details) throws IOException {
        if (stores.rooted()) {
            events.packNil();
        } else if (details.parent().isPresent()) {
            digest(details.parent().get());
        } else {
            hash(stores.parent());
        }
        return this;
    }

    /** Writes the 64 bits as a signed number, as SGLang and TensorRT-LLM do, or as an unsigned one, as vLLM does. */
    private void hash(long hash) throws IOException {
        if (hash < 0 && dialect.vllm()) {
            ByteBuffer.wrap(unsigned).putLong(1, hash);
            events.writePayload(unsigned);
        } else {
            events.packLong(hash);
        }
    }

    private KvEventEncoder tokens(StoredBlocks stores) throws IOException {
        events.packArrayHeader(stores.tokenCount());
        for (int i = 0; i < stores.tokenCount(); i++) {
            events.packLong(Integer.toUnsignedLong(stores.token(i)));
        }
        return this;
    }

    private void medium(Tier tier) throws IOException {
        text(
                switch (tier) {
                    case GPU -> "GPU";
                    case HOST -> dialect.vllm() ? "CPU" : "CPU_PINNED";
                    case DISK -> dialect.vllm() ? "STORAGE" : "DISK";
                    case EXTERNAL -> "EXTERNAL";
                });
    }

    /** One entry for each block; a salt stands beside the first of a prompt. */
    private void extraKeys(StoredBlocks stores, String salt) throws IOException {
        events.packArrayHeader(stores.count());
        for (int i = 0; i < stores.count(); i++) {
            if (i == 0 && stores.rooted() && !salt.isEmpty()) {
                events.packArrayHeader(1);
                text(salt);
            } else {
                events.packNil();
            }
        }
    }

    private void write(Part event) {
        try {
            event.write();
            count++;
        } catch (IOException e) {
            throw inMemory(e);
        }
    }

    private static UncheckedIOException inMemory(IOException e) {
        return new UncheckedIOException("A buffer in memory failed like a device.", e);
    }

    private interface Part {
        void write() throws IOException;
    }
}
