package io.holdfast.sidecar.http;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.vertx.core.buffer.Buffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * Calls whose senders gave them a key, so that one that is sent again is not done again.
 *
 * <p>The same key with the same body is answered as it was the first time, for an hour; with another body it is refused. What
 * went wrong on this side is forgotten: sent again, it is tried again. What is remembered is bounded in bytes, and what was
 * used least goes first, so that a key is a promise for minutes and not for ever.
 */
final class RepeatedCalls {
    static final String HEADER = "Idempotency-Key";
    private static final Duration REMEMBERED = Duration.ofHours(1);
    private static final long MOST_BYTES = 8 << 20;
    private static final int LONGEST_ANSWER = 64 << 10;
    private static final int OF_EACH = 512;

    /** An answer that was given. */
    record Answer(int status, String type, Buffer text, Optional<String> location) {}

    /** One call. */
    private record Call(Buffer body, Optional<Answer> answer) {
        int bytes() {
            return OF_EACH + answer.map(given -> given.text().length()).orElse(0);
        }
    }

    private final Cache<String, Call> calls;

    RepeatedCalls(LongSupplier clock) {
        calls = Caffeine.newBuilder()
                .maximumWeight(MOST_BYTES)
                .weigher((String key, Call call) -> 2 * key.length() + call.bytes())
                .expireAfterWrite(REMEMBERED)
                .ticker(clock::getAsLong)
                .executor(Runnable::run)
                .build();
    }

    /** @throws ApiError where a call has several, of which one could be remembered and another one be meant */
    static void requireOne(int keys) {
        if (keys > 1) {
            throw ApiError.badRequest(HEADER + " comes " + keys + " times; send one.");
        }
    }

    /** @throws ApiError where that is no key */
    static void requireKey(String key) {
        if (!key.matches("[!-~]{1,255}")) {
            throw ApiError.badRequest(HEADER + " is " + ConfigException.shown(key)
                    + "; write 1 to 255 visible ASCII characters, such as a random UUID.");
        }
    }

    /**
     * Notes that a call begins; answers what was answered where it was made before.
     *
     * @throws ApiError where it is under way, or was another one
     */
    Optional<Answer> begin(String key, byte[] body) {
        Buffer print = Buffer.buffer(print(body));
        Call before = calls.asMap().putIfAbsent(key, new Call(print, Optional.empty()));
        if (before == null) {
            return Optional.empty();
        }
        if (!before.body().equals(print)) {
            throw new ApiError(
                    422,
                    "This " + HEADER + " came with another body before; give each call a key of its own, and send a"
                            + " call again as it was.");
        }
        if (before.answer().isEmpty()) {
            throw new ApiError(409, "The call with this " + HEADER + " is under way; ask again when it is answered.");
        }
        return before.answer();
    }

    /** The call was answered. */
    void ended(String key, Answer answer) {
        boolean lasts =
                answer.status() < 500 && answer.status() != 429 && answer.text().length() <= LONGEST_ANSWER;
        if (lasts) {
            calls.asMap().computeIfPresent(key, (same, call) -> new Call(call.body(), Optional.of(answer)));
        } else {
            forget(key);
        }
    }

    void forget(String key) {
        calls.invalidate(key);
    }

    private static byte[] print(byte[] body) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(body);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java has SHA-256.", e);
        }
    }
}
