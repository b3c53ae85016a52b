package io.holdfast.events;

import io.holdfast.core.hash.Xxh3;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The names that a vLLM server gives to blocks, recomputed; confined to one thread.
 *
 * <h2>The rule</h2>
 *
 * A block's digest is the hash of a Python tuple: the whole digest of its parent, the tuple of its tokens, and its extras or
 * None. The parent of a first block is the hash of the seed's text. The tuple is serialised first, by pickle or as canonical
 * CBOR; a name is the last eight bytes of a digest as a big-endian number. So a chain can be continued from a digest and not
 * from a name.
 *
 * <h2>Opaque hashes</h2>
 *
 * Without extras every block can be recomputed, and with a salt. Newer versions hash an adapter with its path, which no event
 * tells, and their form of media is not known: such hashes are opaque, and so are those below them. Pickle writes an object
 * that it meets twice as a reference, and whether two equal texts are one object depends on where the server got them: extras
 * with equal texts are opaque under the algorithms that pickle.
 */
public final class VllmBlockNames {
    private static final String SALT_TAG = "cache_salt";
    private static final Xxh3 XXH3 = Xxh3.seeded(0);

    private final VllmHashing hashing;
    private final HashInput input;
    private final Sha256 sha256 = new Sha256();
    private final byte[] root;

    public VllmBlockNames(VllmHashing hashing) {
        this.hashing = hashing;
        input = hashing.algorithm().pickles() ? new PickleInput() : new CborInput();
        input.begin();
        input.text(hashing.seed());
        input.end();
        root = hashed();
    }

    /** The digest that stands for the parent of a first block. */
    public byte[] root() {
        return root.clone();
    }

    /** A block's digest, or empty where it is opaque. */
    public Optional<byte[]> digest(byte[] parent, int[] tokens, int from, int count, VllmExtras extras) {
        if (parent.length != root.length) {
            throw new IllegalArgumentException(
                    "A digest of " + hashing.algorithm().option() + " has " + root.length + " bytes, the parent has "
                            + parent.length + ".");
        }
        Objects.checkFromIndexSize(from, count, tokens.length);
        return isOpaque(extras) ? Optional.empty() : Optional.of(known(parent, tokens, from, count, extras));
    }

    /**
     * The digest that a server of one's own gives to the next block of a chain. It has every text as an object of its own, so
     * to itself nothing is opaque.
     *
     * @param parent {@link #root} for a first block
     * @param salt the salt of the prompt for a first block that has one, else empty
     */
    public byte[] next(byte[] parent, int[] tokens, int from, int count, String salt) {
        return known(parent, tokens, from, count, salt.isEmpty() ? VllmExtras.NONE : VllmExtras.salted(salt));
    }

    /** One name for each full block of a prompt without extras; a tail shorter than a block has none. */
    public long[] of(int[] tokens, int blockTokens) {
        return names(tokens, blockTokens, VllmExtras.NONE);
    }

    /** One name for each full block of a prompt with a salt, or empty where they are opaque. */
    public Optional<long[]> of(int[] tokens, int blockTokens, String salt) {
        VllmExtras first = VllmExtras.salted(salt);
        return isOpaque(first) ? Optional.empty() : Optional.of(names(tokens, blockTokens, first));
    }

    /** The name that an event gives to the block of a digest. */
    public static long name(byte[] digest) {
        return ByteBuffer.wrap(digest).getLong(digest.length - Long.BYTES);
    }

    private long[] names(int[] tokens, int blockTokens, VllmExtras first) {
        if (blockTokens < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockTokens + ".");
        }
        long[] names = new long[tokens.length / blockTokens];
        byte[] digest = root;
        for (int i = 0; i < names.length; i++) {
            digest = known(digest, tokens, i * blockTokens, blockTokens, i == 0 ? first : VllmExtras.NONE);
            names[i] = name(digest);
        }
        return names;
    }

    private boolean isOpaque(VllmExtras extras) {
        if (hashing.form() == VllmHashing.Form.TAGGED
                && !(extras.lora().isEmpty() && extras.items().isEmpty())) {
            return true;
        }
        return hashing.algorithm().pickles() && !extras.isEmpty() && hasEqualTexts(extras);
    }

    private boolean hasEqualTexts(VllmExtras extras) {
        List<String> texts = new ArrayList<>();
        if (!extras.lora().isEmpty()) {
            texts.add(extras.lora());
        }
        extras.items().forEach(item -> texts.add(item.identifier()));
        if (!extras.salt().isEmpty()) {
            texts.add(extras.salt());
        }
        if (hashing.form() == VllmHashing.Form.TAGGED) {
            texts.add(SALT_TAG);
        }
        return new HashSet<>(texts).size() < texts.size();
    }

    private byte[] known(byte[] parent, int[] tokens, int from, int count, VllmExtras extras) {
        input.begin();
        input.tuple(3);
        input.bytes(parent);
        input.tuple(count);
        for (int i = from; i < from + count; i++) {
            input.number(Integer.toUnsignedLong(tokens[i]));
        }
        input.endTuple(count);
        write(extras);
        input.endTuple(3);
        input.end();
        return hashed();
    }

    private void write(VllmExtras extras) {
        if (extras.isEmpty()) {
            input.none();
            return;
        }
        List<VllmExtras.Item> items = extras.items();
        int size = items.size()
                + (extras.lora().isEmpty() ? 0 : 1)
                + (extras.salt().isEmpty() ? 0 : 1);
        input.tuple(size);
        if (!extras.lora().isEmpty()) {
            input.text(extras.lora());
        }
        for (VllmExtras.Item item : items) {
            input.tuple(2);
            input.text(item.identifier());
            input.number(item.offset());
            input.endTuple(2);
        }
        if (!extras.salt().isEmpty()) {
            writeSalt(extras.salt());
        }
        input.endTuple(size);
    }

    private void writeSalt(String salt) {
        if (hashing.form() == VllmHashing.Form.PLAIN) {
            input.text(salt);
            return;
        }
        input.tuple(2);
        input.text(SALT_TAG);
        input.text(salt);
        input.endTuple(2);
    }

    private byte[] hashed() {
        byte[] digest = new byte[hashing.algorithm().digestBytes()];
        switch (hashing.algorithm()) {
            case SHA256, SHA256_CBOR -> sha256.finish(input.array(), input.length(), digest);
            case XXHASH, XXHASH_CBOR -> XXH3.hash128(input.array(), 0, input.length(), digest);
        }
        return digest;
    }
}
