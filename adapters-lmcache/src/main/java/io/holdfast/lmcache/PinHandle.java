package io.holdfast.lmcache;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.Optional;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** One pin at a coordinator, with all that its unpin has to name. */
final class PinHandle {
    /*
     * An unpin takes the tokens again, and the process that unpins may not be the one that pinned. So they are in the handle,
     * and with it in the ledger: as numbers of seven bits a byte, deflated, which is two bytes a token or so.
     *
     * The marker
     * ----------
     * A coordinator counts pins for everybody, and nothing in its counts tells whose they are. So a pin of ours goes a little
     * beyond the prefix: over one more chunk, of tokens that nobody else sends. A chunk is named by all tokens before its end,
     * so this one has a name of its own, is pinned and unpinned together with the prefix by the same calls, and is listed for
     * as long as the pin is there. Nothing needs to be stored under it.
     *
     * It begins with tokens drawn at random, and is so much longer than a chunk that, wherever chunks end, the last whole one
     * has all of these before its end.
     */
    /** Tokens of a marker that are drawn at random. */
    static final int OWN_TOKENS = 16;

    private static final int PARTS = 5;
    private static final int SEVEN_BITS = 0x7f;
    private static final int MORE = 0x80;

    private final URI coordinator;
    private final int worldSize;
    private final String model;
    private final int[] tokens;
    private final int markerTokens;

    /**
     * Of these tokens.
     *
     * @param coordinator where they are pinned
     * @param worldSize of the engine's tensor parallelism, by which the coordinator finds the keys
     * @param model as LMCache names it
     * @param markerTokens how many of the last tokens are the marker; 0 where there is none
     */
    PinHandle(URI coordinator, int worldSize, String model, int[] tokens, int markerTokens) {
        this.coordinator = coordinator;
        this.worldSize = worldSize;
        this.model = model;
        this.tokens = tokens.clone();
        this.markerTokens = markerTokens;
    }

    /** What follows the tokens that are drawn at random, so that the marker covers a chunk of that size. */
    static int[] marker(int[] own, int chunkTokens) {
        return Arrays.copyOf(own, chunkTokens + own.length);
    }

    URI coordinator() {
        return coordinator;
    }

    int worldSize() {
        return worldSize;
    }

    String model() {
        return model;
    }

    int[] tokens() {
        return tokens.clone();
    }

    int prefixTokens() {
        return tokens.length - markerTokens;
    }

    /**
     * How many whole chunks the coordinator finds in the tokens as long as its chunks are not larger than when the marker was
     * made. Where it finds fewer, none of them may have the marker.
     */
    int leastChunks() {
        return markerTokens == 0 ? 0 : tokens.length / chunkTokens();
    }

    /** The size of a chunk that the marker was made for. */
    int chunkTokens() {
        return markerTokens - OWN_TOKENS;
    }

    /** What was pinned when only the first of so many chunks were: as many tokens as have these and no more, whatever a chunk is. */
    PinHandle part(long pinnedChunks, long chunks) {
        return new PinHandle(
                coordinator,
                worldSize,
                model,
                Arrays.copyOf(tokens, Math.toIntExact(tokens.length * pinnedChunks / chunks)),
                0);
    }

    String text() {
        return coordinator + " " + worldSize + " " + URLEncoder.encode(model, StandardCharsets.UTF_8) + " "
                + markerTokens + " " + packed(tokens);
    }

    /** Absent where it is none. */
    static Optional<PinHandle> of(String text) {
        String[] parts = text.split(" ", -1);
        if (parts.length != PARTS) {
            return Optional.empty();
        }
        try {
            int[] tokens = unpacked(parts[4]);
            int markerTokens = Integer.parseInt(parts[3]);
            boolean fits = markerTokens == 0 || (markerTokens > OWN_TOKENS && markerTokens <= tokens.length);
            return fits
                    ? Optional.of(new PinHandle(
                            URI.create(parts[0]),
                            Integer.parseInt(parts[1]),
                            URLDecoder.decode(parts[2], StandardCharsets.UTF_8),
                            tokens,
                            markerTokens))
                    : Optional.empty();
        } catch (IllegalArgumentException | DataFormatException e) {
            return Optional.empty();
        }
    }

    private static String packed(int[] tokens) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(tokens.length * 3);
        for (int token : tokens) {
            int left = token;
            while ((left & ~SEVEN_BITS) != 0) {
                bytes.write((left & SEVEN_BITS) | MORE);
                left >>>= 7;
            }
            bytes.write(left);
        }
        Deflater deflater = new Deflater();
        try {
            deflater.setInput(bytes.toByteArray());
            deflater.finish();
            ByteArrayOutputStream small = new ByteArrayOutputStream();
            byte[] buffer = new byte[4096];
            while (!deflater.finished()) {
                small.write(buffer, 0, deflater.deflate(buffer));
            }
            return Base64.getUrlEncoder().withoutPadding().encodeToString(small.toByteArray());
        } finally {
            deflater.end();
        }
    }

    private static int[] unpacked(String text) throws DataFormatException {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(Base64.getUrlDecoder().decode(text));
            int[] tokens = new int[64];
            int count = 0;
            int token = 0;
            int shift = 0;
            byte[] buffer = new byte[4096];
            while (!inflater.finished()) {
                int length = inflater.inflate(buffer);
                if (length == 0 && !inflater.finished()) {
                    throw new DataFormatException("it ends too early");
                }
                for (int i = 0; i < length; i++) {
                    token |= (buffer[i] & SEVEN_BITS) << shift;
                    shift += 7;
                    if ((buffer[i] & MORE) == 0) {
                        tokens = count < tokens.length ? tokens : Arrays.copyOf(tokens, 2 * count);
                        tokens[count++] = token;
                        token = 0;
                        shift = 0;
                    }
                }
            }
            return Arrays.copyOf(tokens, count);
        } finally {
            inflater.end();
        }
    }
}
