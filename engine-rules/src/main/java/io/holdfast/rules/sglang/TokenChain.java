package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.Tokens;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * The tokens of one request with the names of their blocks, which grows as the request does.
 *
 * <p>A block's digest covers its predecessor's whole digest and its own tokens, so the chain keeps the last digest and
 * hashes each block once, however often the request looks itself up.
 */
final class TokenChain {
    private static final String SALT_DOMAIN = "sglang-cache-salt-v1\0";

    private final Namespace space;
    private final String session;
    private final int blockTokens;
    private int[] tokens = {};
    private long[] names;
    private int blocks;
    private byte[] digest;

    /** @param session of the request, empty for none */
    TokenChain(Namespace space, String session, int blockTokens) {
        this.space = space;
        this.session = session;
        this.blockTokens = blockTokens;
        this.names = new long[16];
        this.digest = space.salt().isEmpty()
                ? new byte[0]
                : sha256().digest((SALT_DOMAIN + space.salt()).getBytes(StandardCharsets.UTF_8));
    }

    private TokenChain(Namespace space, int blockTokens, int[] tokens, long[] names) {
        this.space = space;
        this.session = "";
        this.blockTokens = blockTokens;
        this.tokens = tokens;
        this.names = names;
        this.blocks = names.length;
        this.digest = new byte[0];
    }

    /** Tokens whose blocks have names already. */
    static TokenChain named(Namespace space, int blockTokens, int[] tokens, long... names) {
        return new TokenChain(space, blockTokens, tokens, names);
    }

    /** Continues with an array that begins with the tokens so far; it is kept and not to be written from here on. */
    TokenChain grow(int[] longer) {
        if (longer.length == tokens.length) {
            return this;
        }
        tokens = longer;
        int full = longer.length / blockTokens;
        if (full == blocks) {
            return this;
        }
        if (full > names.length) {
            names = Arrays.copyOf(names, Math.max(full, names.length + names.length / 2));
        }
        MessageDigest sha256 = sha256();
        ByteBuffer block = ByteBuffer.allocate(Integer.BYTES * blockTokens).order(ByteOrder.LITTLE_ENDIAN);
        for (; blocks < full; blocks++) {
            block.asIntBuffer().put(longer, blocks * blockTokens, blockTokens);
            sha256.update(digest);
            digest = sha256.digest(block.array());
            names[blocks] = ByteBuffer.wrap(digest).getLong();
        }
        return this;
    }

    String session() {
        return session;
    }

    Namespace space() {
        return space;
    }

    int length() {
        return tokens.length;
    }

    /** Full blocks, each with a name. */
    int blocks() {
        return blocks;
    }

    long name(int block) {
        return names[block];
    }

    long[] names(int from, int to) {
        return Arrays.copyOfRange(names, from, to);
    }

    /** A copy of the tokens of some blocks, which outlives this chain. */
    Tokens tokens(int from, int to) {
        return Tokens.of(Arrays.copyOfRange(tokens, from * blockTokens, to * blockTokens));
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256, this one does not.", e);
        }
    }
}
