package io.holdfast.loadtest;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** The digest that workloads and the bodies of requests are compared by. */
public final class Sha256 {
    private Sha256() {}

    public static MessageDigest start() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java has SHA-256.", e);
        }
    }
}
