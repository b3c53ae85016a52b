package io.holdfast.core.index;

import java.util.Arrays;
import java.util.Optional;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;

/**
 * The tokens of the blocks that were announced last, for callers that have to send a prefix to the engine.
 *
 * <p>A ring of places of one block each behind a table. When it is full, what was announced longest ago goes first,
 * unless the cache still has it: what stays there long is what is used again and again, and is announced once. A place
 * has the tokens of one block, so blocks of 16 tokens take 80 bytes each and the bound of 64 MiB is reached at 800,000
 * of them. A budget bounds what is remembered beyond as many as the cache has. Blocks that were stored in a namespace are left out: their tokens alone would name another prefix.
 */
public final class BlockTokens {
    private static final int SMALLEST = 1 << 10;
    private static final long MOST_BYTES = 64L << 20;
    /** Beside its tokens: its hash, and two slots of the table. */
    private static final int BYTES_BESIDE = 16;

    /**
     * Number of places that may be passed over for each new block, on average: where all are cached there is no end to
     * it.
     */
    private static final int PASSED = 8;

    private final LongPredicate cached;
    private final IntSupplier resident;
    private final MemoryBudget memory;
    private long taken;
    private HashSlots slots = new HashSlots(SMALLEST << 1);
    private long[] hashes = new long[SMALLEST];
    private int[] tokens = {};
    private int perBlock;
    private int head;
    private int size;
    private int mayPass;
    private long largest = -1;

    /** {@code cached} says whether the cache has the block with this hash. */
    public BlockTokens(LongPredicate cached) {
        this(cached, () -> 0, MemoryBudget.unbounded());
    }

    /** Remembers the tokens of blocks that left the cache as far as the budget of its blocks has bytes for them. */
    public BlockTokens(EngineBlocks blocks) {
        this(blocks::resident, blocks::size, blocks.memory());
    }

    BlockTokens(LongPredicate cached, IntSupplier resident, MemoryBudget memory) {
        this.cached = cached;
        this.resident = resident;
        this.memory = memory;
    }

    /** Hears of an announcement; one that does not tell the tokens of each block is passed over. */
    public void stored(StoredBlocks stores) {
        int each = stores.blockTokens();
        if (each <= 0 || stores.namespaced() || stores.tokenCount() != stores.count() * each) {
            return;
        }
        if (each != perBlock) {
            perBlock = each;
            forgetAll();
        }
        for (int i = 0; i < stores.count(); i++) {
            int place = place(stores.hash(i));
            System.arraycopy(stores.tokenArray(), stores.tokenFrom() + i * each, tokens, place * each, each);
        }
        for (int i = 0; i < stores.tokenCount(); i++) {
            largest = Math.max(largest, stores.token(i) & 0xffff_ffffL);
        }
    }

    /** The tokens of a path; absent unless those of all its blocks are known. */
    public Optional<int[]> of(Prefix path) {
        int blocks = path.blocks();
        int[] places = new int[blocks];
        for (int i = blocks - 1; i >= 0; i--) {
            places[i] = slots.find(hashes, path.block(i));
            if (places[i] == HashSlots.NONE) {
                return Optional.empty();
            }
        }
        int[] all = new int[blocks * perBlock];
        for (int i = 0; i < blocks; i++) {
            System.arraycopy(tokens, places[i] * perBlock, all, i * perBlock, perBlock);
        }
        return Optional.of(all);
    }

    /** Returns true if the tokens of all blocks of a path are known. */
    public boolean know(long[] path) {
        for (int i = path.length - 1; i >= 0; i--) {
            if (slots.find(hashes, path[i]) == HashSlots.NONE) {
                return false;
            }
        }
        return true;
    }

    /** The largest token id that was seen, as a number without sign; -1 before any was. */
    public long largest() {
        return largest;
    }

    /** An id that the engine's own tokenizer gave. */
    public void seen(long token) {
        largest = Math.max(largest, token);
    }

    /** Begins anew: another model has other tokens. */
    public void forget() {
        forgetAll();
        largest = -1;
    }

    private void forgetAll() {
        memory.give(taken);
        taken = 0;
        slots = new HashSlots(SMALLEST << 1);
        hashes = new long[SMALLEST];
        tokens = new int[SMALLEST * perBlock];
        head = 0;
        size = 0;
    }

    private int place(long hash) {
        int known = slots.find(hashes, hash);
        if (known != HashSlots.NONE) {
            return known;
        }
        if (head == hashes.length && !grow()) {
            head = 0;
        }
        // Saved up, since what stays lies in rows.
        mayPass = Math.min(mayPass + PASSED, hashes.length);
        if (size == hashes.length) {
            while (mayPass > 0 && cached.test(hashes[head])) {
                mayPass--;
                head = (head + 1) % hashes.length;
            }
            slots.remove(hashes, head);
            size--;
        }
        hashes[head] = hash;
        slots.insert(hash, head);
        size++;
        return head++;
    }

    private boolean grow() {
        long length = (long) hashes.length << 1;
        long more = hashes.length * (BYTES_BESIDE + 4L * perBlock);
        if (2 * more > MOST_BYTES) {
            return false;
        }
        // What the cache has is no memory of the past.
        if (hashes.length >= resident.getAsInt()) {
            if (!memory.take(more)) {
                return false;
            }
            taken += more;
        }
        hashes = Arrays.copyOf(hashes, (int) length);
        tokens = Arrays.copyOf(tokens, (int) length * perBlock);
        slots.grow(hashes);
        return true;
    }
}
