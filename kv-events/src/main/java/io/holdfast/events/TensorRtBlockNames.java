package io.holdfast.events;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.OptionalLong;

/**
 * The names that TensorRT-LLM gives to the blocks of a prompt: the keys of its radix tree, cut to their first eight bytes.
 *
 * <p>The keys are a SHA-256 chain as SGLang's digests are, except that the digest of a reuse scope stands in front of the first
 * block: of a salt's number, or of none. Taken from the source of its KV cache manager V2; no engine was run.
 */
public final class TensorRtBlockNames {
    private static final int SALT_FIELD = 2;
    private static final byte[] ROOT = root(OptionalLong.empty());

    private TensorRtBlockNames() {}

    /** One name for each full block of an unsalted prompt; a tail shorter than a block has none. */
    public static long[] of(int[] tokens, int blockTokens) {
        return SglangBlockNames.chain(tokens, blockTokens, 1, ROOT);
    }

    /**
     * Digest in front of the first block of a prompt.
     *
     * @param salt number that the engine makes of the prompt's salt, where it has one
     */
    public static byte[] root(OptionalLong salt) {
        ByteBuffer scope =
                ByteBuffer.allocate(1 + (salt.isPresent() ? Long.BYTES : 0)).order(ByteOrder.LITTLE_ENDIAN);
        scope.put((byte) (salt.isPresent() ? SALT_FIELD : 0));
        salt.ifPresent(scope::putLong);
        return Sha256.of(scope.array());
    }

    /** Digest of the block of these tokens behind the one with the digest {@code before}. */
    public static byte[] next(byte[] before, int[] tokens, int from, int count) {
        ByteBuffer block = ByteBuffer.allocate(before.length + count * Integer.BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .put(before);
        for (int i = from; i < from + count; i++) {
            block.putInt(tokens[i]);
        }
        return Sha256.of(block.array());
    }

    /** Name that an event gives to the block of a digest. */
    public static long name(byte[] digest) {
        return ByteBuffer.wrap(digest).getLong();
    }
}
