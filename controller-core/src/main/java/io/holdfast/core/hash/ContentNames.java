package io.holdfast.core.hash;

import java.nio.charset.StandardCharsets;
import java.util.Objects;

/**
 * The names of blocks in a fleet: chained hashes of tokens alone, the same for every engine.
 *
 * <p>Its functions keep nothing, so that any thread may call them; those that name blocks allocate nothing.
 *
 * <h2>The rule</h2>
 *
 * A block's <em>local</em> hash is the XXH3-64, seed 1337, of its tokens, four bytes each and the lowest first. The
 * name of a first block is its local hash; the name of any other is the XXH3-64, seed 1337, of its parent's name and
 * its local hash, eight bytes each and the lowest first. Other indexers of KV caches name blocks so too. Zero is no
 * name: one stands for it.
 *
 * <h2>Namespaces</h2>
 *
 * The same tokens under another salt or another LoRA adapter are another block. A <em>namespace</em> is a number for
 * such a pair, zero for neither: the XXH3-64 of the numbers of both texts, which are those of extras, below, and zero
 * for none. It stands where a first block's parent would: the first block is chained to it. So local hashes say nothing
 * of salts, everything below the first block follows automatically, and two namespaces share a name only as two
 * different blocks would, by a collision of 64 bits. How other indexers fold in a salt or an adapter changed from
 * version to version: names agree with theirs outside namespaces only.
 *
 * <h2>What else is in a block</h2>
 *
 * Placeholder tokens of an image are the same for every image. Its identifier is an <em>extra</em> of each block that
 * it touches; its number is the XXH3-64 of the identifier's UTF-8 and is chained to that block's local hash. Several
 * are first chained to each other, in their order in the prompt, so that a block has one such number at most.
 */
public final class ContentNames {
    /** The namespace of blocks that have neither salt nor LoRA adapter. */
    public static final long NO_NAMESPACE = 0;

    private static final Xxh3 HASH = Xxh3.seeded(1337);

    private ContentNames() {}

    /** The namespace of a salt and a LoRA adapter; an empty text is none. */
    public static long namespace(String salt, String lora) {
        return namespace(salt.isEmpty() ? 0 : extra(salt), lora.isEmpty() ? 0 : extra(lora));
    }

    /** The namespace of a salt and a LoRA adapter by the {@linkplain #extra numbers} of their texts; 0 is none. */
    public static long namespace(long salt, long lora) {
        return (salt | lora) == 0 ? NO_NAMESPACE : named(HASH.hash64(salt, lora));
    }

    /** The number of an extra's identifier. */
    public static long extra(String identifier) {
        byte[] text = identifier.getBytes(StandardCharsets.UTF_8);
        return extra(text, 0, text.length);
    }

    /** The number of an extra's identifier, given as UTF-8. */
    public static long extra(byte[] text, int from, int length) {
        return named(HASH.hash64(text, from, length));
    }

    /** The local hash of the tokens of one block. */
    public static long local(int[] tokens, int from, int count) {
        return named(HASH.hash64(tokens, from, count));
    }

    /** A block's local hash with its extra, or an extra with the next one of its block. */
    public static long with(long local, long extra) {
        return named(HASH.hash64(local, extra));
    }

    /** The name of a first block. */
    public static long root(long local, long namespace) {
        return namespace == NO_NAMESPACE ? local : next(namespace, local);
    }

    /** The name of a block under its parent's name. */
    public static long next(long parent, long local) {
        return named(HASH.hash64(parent, local));
    }

    /**
     * Names the full blocks of a prompt, in order; a tail shorter than a block has no name.
     *
     * @return how many there are
     */
    public static int names(int[] tokens, int from, int count, int blockTokens, long namespace, long[] into) {
        if (blockTokens < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockTokens + ".");
        }
        Objects.checkFromIndexSize(from, count, tokens.length);
        int blocks = count / blockTokens;
        if (blocks > into.length) {
            throw new IllegalArgumentException("There are " + blocks + " blocks and room for " + into.length
                    + " names; hand in an array of at least that length.");
        }
        long name = namespace;
        for (int i = 0; i < blocks; i++) {
            long local = local(tokens, from + i * blockTokens, blockTokens);
            name = i == 0 ? root(local, namespace) : next(name, local);
            into[i] = name;
        }
        return blocks;
    }

    private static long named(long hash) {
        return hash == 0 ? 1 : hash;
    }
}
