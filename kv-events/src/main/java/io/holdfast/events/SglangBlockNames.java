package io.holdfast.events;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The names that SGLang gives to the blocks of an unsalted prompt: a SHA-256 chain, cut to its first eight bytes.
 *
 * <p>Each block's digest covers its predecessor's whole digest (nothing for the first block) and its own tokens, four bytes
 * little-endian each; the name is the digest's beginning as a big-endian number. The chain needs the whole digests, so it
 * cannot be continued from a name: it always starts at the first token.
 *
 * <p>Salt changes the names and LoRA or extra keys do not, so that names computed here say nothing about such prompts.
 */
public final class SglangBlockNames {
    private static final int DIGEST_BYTES = 32;

    private SglangBlockNames() {}

    /** One name for each full block; a tail shorter than a block has none. */
    public static long[] of(int[] tokens, int blockTokens) {
        if (blockTokens < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockTokens + ".");
        }
        MessageDigest sha256 = sha256();
        byte[] digest = new byte[DIGEST_BYTES];
        ByteBuffer block = ByteBuffer.allocate(Math.multiplyExact(blockTokens, Integer.BYTES))
                .order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer head = ByteBuffer.wrap(digest);
        long[] names = new long[tokens.length / blockTokens];
        for (int i = 0; i < names.length; i++) {
            if (i > 0) {
                sha256.update(digest);
            }
            block.clear();
            block.asIntBuffer().put(tokens, i * blockTokens, blockTokens);
            sha256.update(block);
            try {
                sha256.digest(digest, 0, DIGEST_BYTES);
            } catch (DigestException e) {
                throw new IllegalStateException("SHA-256 gave a digest of another length than 32 bytes.", e);
            }
            names[i] = head.getLong(0);
        }
        return names;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256, this one does not.", e);
        }
    }
}
