package io.holdfast.events;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/**
 * Writes batches of events as an engine would publish them: the other half of the codec, for emulated engines.
 *
 * <p>Events collect until {@link #finish}, which gives the payload of one frame and starts the next. Salts and adapter names
 * are not known here, only that blocks are {@linkplain StoredBlocks#namespaced() namespaced}: such blocks get a stand-in
 * salt.
 */
public final class KvEventEncoder {
    /** Which engine's form, and which of its two generations. */
    public enum Dialect {
        /** SGLang since September 2026: events are tagged maps. */
        SGLANG_MAPS,
        /** SGLang before: events are arrays, a salt makes an eighth element. */
        SGLANG_ARRAYS,
        /** vLLM since 0.24: events are tagged maps. */
        VLLM_MAPS,
        /** vLLM up to 0.22: events are arrays. */
        VLLM_ARRAYS;

        private boolean vllm() {
            return this == VLLM_MAPS || this == VLLM_ARRAYS;
        }

        private boolean maps() {
            return this == SGLANG_MAPS || this == VLLM_MAPS;
        }
    }

    private static final String STAND_IN_SALT = "namespaced";

    private final Dialect dialect;
    private final MessageBufferPacker events = MessagePack.newDefaultBufferPacker();
    private final MessageBufferPacker batch = MessagePack.newDefaultBufferPacker();
    private final byte[] unsigned = new byte[1 + Long.BYTES];
    private int count;

    public KvEventEncoder(Dialect dialect) {
        this.dialect = dialect;
        unsigned[0] = MessagePack.Code.UINT64;
    }

    public void stored(StoredBlocks chain) {
        write(() -> {
            if (dialect.maps()) {
                storedMap(chain);
            } else {
                storedArray(chain);
            }
        });
    }

    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        write(() -> {
            if (dialect.maps()) {
                events.packMapHeader(dialect.vllm() ? 4 : 3);
                text("type").text("BlockRemoved").text("block_hashes").hashes(hashes, from, to);
                text("medium").medium(tier);
                if (dialect.vllm()) {
                    text("group_idx").events.packInt(group);
                }
            } else {
                events.packArrayHeader(dialect.vllm() ? 4 : 3);
                text("BlockRemoved").hashes(hashes, from, to).medium(tier);
                if (dialect.vllm()) {
                    events.packInt(group);
                }
            }
        });
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

    private void storedMap(StoredBlocks chain) throws IOException {
        boolean salted = chain.namespaced() && !dialect.vllm();
        events.packMapHeader(dialect.vllm() ? 11 : salted ? 8 : 7);
        text("type").text("BlockStored").text("block_hashes").hashes(chain);
        text("parent_block_hash").parent(chain);
        text("token_ids").tokens(chain);
        text("block_size").events.packInt(chain.blockTokens());
        text("lora_id").events.packNil();
        text("medium").medium(chain.tier());
        if (salted) {
            text("cache_salt").text(STAND_IN_SALT);
        }
        if (dialect.vllm()) {
            text("lora_name").events.packNil();
            text("extra_keys").extraKeys(chain);
            text("group_idx").events.packInt(chain.group());
            text("kv_cache_spec_kind").text(kind(chain));
        }
    }

    private void storedArray(StoredBlocks chain) throws IOException {
        boolean salted = chain.namespaced() && !dialect.vllm();
        events.packArrayHeader(dialect.vllm() ? 12 : salted ? 8 : 7);
        text("BlockStored").hashes(chain).parent(chain).tokens(chain);
        events.packInt(chain.blockTokens()).packNil();
        medium(chain.tier());
        if (salted) {
            events.packMapHeader(1);
            text("cache_salt").text(STAND_IN_SALT);
        }
        if (dialect.vllm()) {
            events.packNil();
            extraKeys(chain);
            events.packInt(chain.group());
            text(kind(chain));
            events.packNil();
        }
    }

    private static String kind(StoredBlocks chain) {
        return chain.windowed() ? "sliding_window" : "full_attention";
    }

    private KvEventEncoder text(String value) throws IOException {
        events.packString(value);
        return this;
    }

    private KvEventEncoder hashes(StoredBlocks chain) throws IOException {
        events.packArrayHeader(chain.count());
        for (int i = 0; i < chain.count(); i++) {
            hash(chain.hash(i));
        }
        return this;
    }

    private KvEventEncoder hashes(long[] hashes, int from, int to) throws IOException {
        events.packArrayHeader(to - from);
        for (int i = from; i < to; i++) {
            hash(hashes[i]);
        }
        return this;
    }

    private KvEventEncoder parent(StoredBlocks chain) throws IOException {
        if (chain.rooted()) {
            events.packNil();
        } else {
            hash(chain.parent());
        }
        return this;
    }

    /** SGLang's hashes are signed numbers, vLLM's are unsigned: the same 64 bits look different on the wire. */
    private void hash(long hash) throws IOException {
        if (hash < 0 && dialect.vllm()) {
            ByteBuffer.wrap(unsigned).putLong(1, hash);
            events.writePayload(unsigned);
        } else {
            events.packLong(hash);
        }
    }

    private KvEventEncoder tokens(StoredBlocks chain) throws IOException {
        events.packArrayHeader(chain.tokenCount());
        for (int i = 0; i < chain.tokenCount(); i++) {
            events.packLong(Integer.toUnsignedLong(chain.token(i)));
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
    private void extraKeys(StoredBlocks chain) throws IOException {
        events.packArrayHeader(chain.count());
        for (int i = 0; i < chain.count(); i++) {
            if (i == 0 && chain.namespaced() && chain.rooted()) {
                events.packArrayHeader(1);
                text(STAND_IN_SALT);
            } else {
                events.packNil();
            }
        }
    }

    private void write(Event event) {
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

    private interface Event {
        void write() throws IOException;
    }
}
