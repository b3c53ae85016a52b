package io.holdfast.sidecar.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A prefix that the configuration names to be held, by a text, a conversation, tokens, or a file that has a text. */
public final class DeclaredHold {
    private static final long MOST_BYTES = 8 << 20;

    private final String name;
    private final Optional<PrefixSource> written;
    private final Optional<Path> file;
    private final boolean measured;

    private DeclaredHold(String name, Optional<PrefixSource> written, Optional<Path> file, boolean measured) {
        this.name = name;
        this.written = written;
        this.file = file;
        this.measured = measured;
    }

    static DeclaredHold of(String name, PrefixSource source) {
        return new DeclaredHold(name, Optional.of(source), Optional.empty(), false);
    }

    static DeclaredHold ofFile(String name, Path text) {
        return new DeclaredHold(name, Optional.empty(), Optional.of(text), false);
    }

    /** The same where it may be let go now and then, to measure what it does. */
    DeclaredHold toBeMeasured() {
        return new DeclaredHold(name, written, file, true);
    }

    public boolean measured() {
        return measured;
    }

    /** By what is seen that something else is declared: what is to be held, and whether that is measured. */
    public String digestOf(PrefixSource source) {
        return digest(source) + (measured ? " measured" : "");
    }

    /** What the configuration calls it. */
    public String name() {
        return name;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof DeclaredHold hold
                && hold.name.equals(name)
                && hold.measured == measured
                && hold.file.equals(file)
                && hold.written.map(DeclaredHold::digest).equals(written.map(DeclaredHold::digest));
    }

    @Override
    public int hashCode() {
        return Objects.hash(name, file);
    }

    /**
     * What is to be held, read now where a file has it.
     *
     * @throws ApiError with one sentence where the file cannot be read
     */
    public PrefixSource source() {
        return written.orElseGet(() -> new PrefixSource.Text(text(file.orElseThrow())));
    }

    private static String text(Path file) {
        try {
            if (Files.exists(file) && !Files.isRegularFile(file)) {
                // Reading a pipe or a device may never end, and every hold of the engine would wait for it.
                throw new ApiError(409, "There is no plain file at " + file + "; write the text into one.");
            }
            if (Files.size(file) > MOST_BYTES) {
                throw new ApiError(409, "The file " + file + " has more than 8 MiB; no prefix is that long.");
            }
            String text = Files.readString(file);
            if (text.isEmpty()) {
                throw new ApiError(409, "The file " + file + " is empty; write the text into it.");
            }
            return text;
        } catch (IOException e) {
            throw new ApiError(
                    409, "The file " + file + " cannot be read (" + e + "); write its path as seen by the sidecar.");
        }
    }

    /** Tells one prefix from another without giving it away to whoever knows none. */
    public static String digest(PrefixSource source) {
        String text = switch (source) {
            case PrefixSource.Text written -> "text:" + written.text();
            case PrefixSource.Tokens tokens -> "tokens:" + Arrays.toString(tokens.ids());
            case PrefixSource.Hashes hashes -> "hashes:" + Arrays.toString(hashes.blocks());
            case PrefixSource.Example example -> "example:" + example;
            case PrefixSource.Messages conversation ->
                "messages:" + conversation.messages()
                        + conversation.tools().map(tools -> "tools:" + tools).orElse("");
        };
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("This Java has no SHA-256, which every Java has.", e);
        }
    }
}
