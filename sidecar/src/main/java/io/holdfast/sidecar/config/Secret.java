package io.holdfast.sidecar.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/** A secret from the environment. Only what needs its value gets it; a sentence about it names its variable. */
public final class Secret {
    /** Fewer could be found by trying. */
    static final int LEAST_TOKEN_LENGTH = 16;

    private final String variable;
    private final String value;

    private Secret(String variable, String value) {
        this.variable = variable;
        this.value = value;
    }

    /**
     * Reads a variable without the white space around its value: whoever writes a secret to a file leaves a line end.
     *
     * @param key the key of the configuration that names the variable
     * @throws IOException with one sentence that names the variable, when there is no secret in it
     */
    public static Secret read(Map<String, String> environment, String variable, String key) throws IOException {
        String value = environment.getOrDefault(variable, "").strip();
        String subject = "The environment variable " + variable + ", which " + key + " names, ";
        if (value.isEmpty()) {
            throw new IOException(subject
                    + (environment.containsKey(variable) ? "is empty" : "is not set") + "; set it or leave "
                    + key.substring(key.lastIndexOf('.') + 1) + " out.");
        }
        if (value.chars().anyMatch(c -> c <= ' ' || c > '~')) {
            throw new IOException(subject
                    + "has a space, a line break, a control character or one beyond ASCII within it; no HTTP header can"
                    + " carry that: set it anew.");
        }
        return new Secret(variable, value);
    }

    /** A token that others must know, so one that cannot be guessed. */
    static Secret token(Map<String, String> environment, String variable, String key) throws IOException {
        Secret token = read(environment, variable, key);
        if (token.value.length() < LEAST_TOKEN_LENGTH) {
            throw new IOException("The environment variable " + variable + ", which " + key + " names, has fewer than "
                    + LEAST_TOKEN_LENGTH + " characters, which can be guessed; make one with openssl rand -hex 32.");
        }
        return token;
    }

    /**
     * Headers of a request to an engine: its key, where there is one.
     *
     * @param key the key of the configuration that names the variable
     */
    public static Map<String, String> headers(Map<String, String> environment, Optional<String> variable, String key)
            throws IOException {
        return variable.isEmpty()
                ? Map.of()
                : Map.of("Authorization", read(environment, variable.get(), key).bearer());
    }

    /** Passes its value to what needs it. */
    public <T> T passedTo(Function<String, T> user) {
        return user.apply(value);
    }

    String variable() {
        return variable;
    }

    /** The value of an {@code Authorization} header. */
    public String bearer() {
        return "Bearer " + value;
    }

    /** Tells whether this is the secret; the time that takes says nothing about how much of it is right. */
    public boolean matches(String presented) {
        return MessageDigest.isEqual(
                presented.getBytes(StandardCharsets.UTF_8), value.getBytes(StandardCharsets.UTF_8));
    }

    boolean matches(Secret other) {
        return matches(other.value);
    }

    @Override
    public String toString() {
        return "the secret in " + variable;
    }
}
