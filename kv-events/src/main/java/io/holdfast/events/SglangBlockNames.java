package io.holdfast.events;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The names that SGLang gives to the blocks of a prompt: a SHA-256 chain, cut to its first eight bytes.
 *
 * <p>Each block's digest covers its predecessor's whole digest (nothing for the first block) and its own tokens, four bytes
 * little-endian each; the name is the digest's beginning as a big-endian number. The chain needs the whole digests, so it
 * cannot be continued from a name: it always starts at the first token.
 *
 * <p>A salt is a digest in front of the first block, from the version on that hashes it at all. LoRA and extra keys do not
 * change names: two prompts that differ in nothing else have the same names and are different blocks to the engine.
 *
 * <p>Under EAGLE speculation a block holds pairs of neighbouring tokens: it covers one token more than it has pairs, and
 * shares that token with its successor.
 */
public final class SglangBlockNames {
    static final BlockNaming RULE = SglangBlockNames::of;

    private static final String SALT_DOMAIN = "sglang-cache-salt-v1\0";

    private SglangBlockNames() {}

    /** One name for each full block of an unsalted prompt; a tail shorter than a block has none. */
    public static long[] of(int[] tokens, int blockTokens) {
        return of(tokens, blockTokens, "");
    }

    /** One name for each full block of a prompt with a salt; an empty salt is none. */
    public static long[] of(int[] tokens, int blockTokens, String salt) {
        return names(tokens, blockTokens, 1, salt);
    }

    /** One name for each full block of so many pairs of tokens. */
    public static long[] ofPairs(int[] tokens, int blockPairs, String salt) {
        return names(tokens, blockPairs, 2, salt);
    }

    private static long[] names(int[] tokens, int blockUnits, int unitTokens, String salt) {
        return chain(
                tokens,
                blockUnits,
                unitTokens,
                salt.isEmpty() ? new byte[0] : Sha256.of((SALT_DOMAIN + salt).getBytes(StandardCharsets.UTF_8)));
    }

    /** @param root digest in front of the first block, empty for none */
    static long[] chain(int[] tokens, int blockUnits, int unitTokens, byte[] root) {
        if (blockUnits < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockUnits + ".");
        }
        Sha256 sha256 = new Sha256();
        boolean chained = root.length > 0;
        byte[] digest = Arrays.copyOf(root, Sha256.BYTES);
        byte[] block = new byte[Math.multiplyExact(blockUnits, unitTokens * Integer.BYTES)];
        ByteBuffer words = ByteBuffer.wrap(block).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer head = ByteBuffer.wrap(digest);
        long[] names = new long[Math.max(0, tokens.length - unitTokens + 1) / blockUnits];
        for (int i = 0; i < names.length; i++) {
            words.clear();
            for (int unit = i * blockUnits; unit < (i + 1) * blockUnits; unit++) {
                for (int token = unit; token < unit + unitTokens; token++) {
                    words.putInt(tokens[token]);
                }
            }
            if (chained) {
                sha256.update(digest);
            }
            sha256.finish(block, block.length, digest);
            chained = true;
            names[i] = head.getLong(0);
        }
        return names;
    }
}
