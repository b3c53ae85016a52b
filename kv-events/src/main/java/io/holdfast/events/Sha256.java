package io.holdfast.events;

import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** SHA-256 into arrays that the caller keeps; confined to one thread. */
final class Sha256 {
    static final int BYTES = 32;

    private final MessageDigest digest;

    Sha256() {
        try {
            digest = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256, this one does not.", e);
        }
    }

    /** Digest of one input. */
    static byte[] of(byte[] input) {
        byte[] digest = new byte[BYTES];
        new Sha256().finish(input, input.length, digest);
        return digest;
    }

    /** More of the input. */
    void update(byte[] input) {
        digest.update(input);
    }

    /** The end of the input; the next one begins after it. */
    void finish(byte[] input, int length, byte[] into) {
        digest.update(input, 0, length);
        try {
            digest.digest(into, 0, BYTES);
        } catch (DigestException e) {
            throw new IllegalStateException("SHA-256 gave a digest of another length than 32 bytes.", e);
        }
    }
}
