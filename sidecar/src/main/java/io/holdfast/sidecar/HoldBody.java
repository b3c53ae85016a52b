package io.holdfast.sidecar;

import static io.holdfast.sidecar.ApiError.badRequest;
import static io.holdfast.sidecar.ConfigException.shown;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The body of a request for a hold: the prefix by its tokens or by the names of its blocks, and how long.
 *
 * <p>Read as a stream straight into primitive arrays, because a prompt may have hundreds of thousands of tokens, and
 * strictly, because a hold on anything but what was meant helps nobody.
 */
final class HoldBody {
    static final int MOST_TOKENS = 1 << 20;
    static final Duration LONGEST_LEASE = Duration.ofHours(24);

    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    private final Optional<int[]> tokens;
    private final Optional<long[]> hashes;
    private final Duration lease;

    private HoldBody(Optional<int[]> tokens, Optional<long[]> hashes, Duration lease) {
        this.tokens = tokens;
        this.hashes = hashes;
        this.lease = lease;
    }

    /** Present when {@link #hashes} is absent. */
    Optional<int[]> tokens() {
        return tokens;
    }

    /** Root first; present when {@link #tokens} is absent. */
    Optional<long[]> hashes() {
        return hashes;
    }

    Duration lease() {
        return lease;
    }

    /**
     * Refuses with {@link ApiError} what is not exactly such a body.
     *
     * @param mostBlocks more hashes than that are not even read
     */
    static HoldBody parse(byte[] bytes, int mostBlocks) {
        try (JsonParser json = JSON.createParser(bytes)) {
            return parse(json, mostBlocks);
        } catch (JsonProcessingException e) {
            var at = e.getLocation();
            String problem = e.getOriginalMessage().lines().findFirst().orElse("it ends too early");
            throw badRequest("The body is not valid JSON"
                    + (at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr()) + " ("
                    + shown(problem) + ").");
        } catch (IOException e) {
            throw badRequest("The body cannot be read (" + e.getClass().getSimpleName() + ").");
        }
    }

    private static HoldBody parse(JsonParser json, int mostBlocks) throws IOException {
        JsonToken first = json.nextToken();
        if (first != JsonToken.START_OBJECT) {
            throw badRequest("The body must be a JSON object such as {\"tokens\":[1,2,3],\"leaseSeconds\":60}.");
        }
        int @Nullable [] tokens = null;
        long @Nullable [] hashes = null;
        Duration lease = null;
        for (String field = json.nextFieldName(); field != null; field = json.nextFieldName()) {
            json.nextToken();
            switch (field) {
                case "tokens" -> tokens = tokens(json);
                case "hashes" -> hashes = hashes(json, mostBlocks);
                case "leaseSeconds" -> lease = lease(json);
                default ->
                    throw badRequest("The field " + shown(field)
                            + " is unknown; a hold has tokens or hashes, and leaseSeconds.");
            }
        }
        if (json.nextToken() != null) {
            throw badRequest("Something follows the JSON object; send one object only.");
        }
        if ((tokens == null) == (hashes == null)) {
            throw badRequest(
                    tokens == null
                            ? "The body has neither tokens nor hashes; send one of them."
                            : "The body has both tokens and hashes; send one of them.");
        }
        if (lease == null) {
            throw badRequest("leaseSeconds is missing; every hold ages, so say for how long.");
        }
        return new HoldBody(Optional.ofNullable(tokens), Optional.ofNullable(hashes), lease);
    }

    private static int[] tokens(JsonParser json) throws IOException {
        startArray(json, "tokens");
        int[] tokens = new int[1024];
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            requireRoom(count);
            if (token != JsonToken.VALUE_NUMBER_INT) {
                throw badRequest("tokens[" + count + "] is not a whole number; tokens are the engine's token ids.");
            }
            boolean fits = json.getNumberType() != JsonParser.NumberType.BIG_INTEGER
                    && json.getLongValue() >= 0
                    && json.getLongValue() < 1L << 32;
            if (!fits) {
                throw badRequest("tokens[" + count + "] is " + shown(json.getText())
                        + "; a token id is between 0 and 4294967295.");
            }
            if (count == tokens.length) {
                tokens = Arrays.copyOf(tokens, count << 1);
            }
            tokens[count++] = (int) json.getLongValue();
        }
        requireSome("tokens", count);
        return Arrays.copyOf(tokens, count);
    }

    private static long[] hashes(JsonParser json, int mostBlocks) throws IOException {
        startArray(json, "hashes");
        long[] hashes = new long[64];
        int count = 0;
        for (JsonToken token = json.nextToken(); token != JsonToken.END_ARRAY; token = json.nextToken()) {
            if (count == mostBlocks) {
                throw new ApiError(
                        409, "hashes has more than " + mostBlocks + " elements, which can never fit this engine.");
            }
            if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_STRING) {
                throw badRequest("hashes[" + count + "] is neither a whole number nor a string of decimal digits.");
            }
            if (count == hashes.length) {
                hashes = Arrays.copyOf(hashes, count << 1);
            }
            hashes[count] = name(json.getText(), count);
            count++;
        }
        requireSome("hashes", count);
        return Arrays.copyOf(hashes, count);
    }

    /** Engines write the same 64 bits signed or unsigned. */
    private static long name(String digits, int index) {
        boolean plain = !digits.startsWith("+") && digits.chars().allMatch(c -> c < 128);
        try {
            if (plain) {
                return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
            }
        } catch (NumberFormatException e) {
            // Told below.
        }
        throw badRequest("hashes[" + index + "] is " + shown(digits)
                + "; a hash is a decimal number of 64 bits, signed or unsigned.");
    }

    private static Duration lease(JsonParser json) throws IOException {
        JsonToken token = json.currentToken();
        if (token != JsonToken.VALUE_NUMBER_INT && token != JsonToken.VALUE_NUMBER_FLOAT) {
            throw badRequest("leaseSeconds is not a number; write seconds, such as 60.");
        }
        String written = json.getText();
        BigDecimal seconds = written.length() <= 32 ? new BigDecimal(written) : BigDecimal.valueOf(-1);
        // Compared as a number first: 1e999999999 must not be spread out into digits.
        if (seconds.signum() <= 0
                || seconds.compareTo(BigDecimal.valueOf(LONGEST_LEASE.toSeconds())) > 0
                || seconds.compareTo(new BigDecimal("0.001")) < 0) {
            throw badRequest(
                    "leaseSeconds is " + shown(written) + "; write 0.001 to " + LONGEST_LEASE.toSeconds() + ".");
        }
        return Duration.ofMillis(seconds.movePointRight(3).longValue());
    }

    private static void startArray(JsonParser json, String field) {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw badRequest(field + " is not an array.");
        }
    }

    private static void requireRoom(int count) {
        if (count == MOST_TOKENS) {
            throw badRequest("tokens has more than " + MOST_TOKENS + " elements; no prefix is that long.");
        }
    }

    private static void requireSome(String field, int count) {
        if (count == 0) {
            throw badRequest(field + " is empty; a hold needs at least one full block.");
        }
    }
}
