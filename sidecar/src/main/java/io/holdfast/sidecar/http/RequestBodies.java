package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.HttpLimits;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import java.io.IOException;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Receives the bodies of requests within a bound for each and a bound for all of them.
 *
 * <p>A body that says its length has all of it set aside before the first byte is read; one in chunks takes more as it
 * grows. Whoever does not fit is refused at once, so that bodies that never end cost their senders the 503 and not the
 * process its heap.
 */
final class RequestBodies {
    private static final int FIRST_BYTES = 16 << 10;
    /** A longer array is not kept: it would lie in a small heap for a prompt that seldom comes. */
    private static final int MOST_SPARE = 1 << 20;

    private final HttpLimits limits;
    private final ByteQuota quota;
    private final ConnectionGuard guard;
    /** Array of a body that was read to its end, for the next one. */
    private byte[] spare = new byte[0];

    RequestBodies(HttpLimits limits, ConnectionGuard guard) {
        this.guard = guard;
        this.limits = limits;
        this.quota = new ByteQuota(limits.bodiesBytes());
    }

    /** A body's bytes, which count until it is closed. */
    final class Body implements AutoCloseable {
        private byte[] bytes = new byte[0];
        private int length;
        private int announced;
        private long taken;

        byte[] bytes() {
            return bytes.length == length ? bytes : Arrays.copyOf(bytes, length);
        }

        int length() {
            return length;
        }

        /** Lists of the body, read from its bytes where they are; they stay what they are while any thread reads them. */
        Supplier<BodyLists> lists() {
            byte[] read = bytes;
            int end = length;
            return () -> BodyLists.of(read, end);
        }

        /** Closes it once nobody reads its bytes any more, so that the next body may be received into their array. */
        void recycle() {
            if (bytes.length > spare.length && bytes.length <= MOST_SPARE) {
                spare = bytes;
            }
            close();
        }

        /** Lets go of the bytes; what was made of them counts in their place. */
        void becomes(long bytesOfResult) {
            bytes = new byte[0];
            length = 0;
            if (bytesOfResult > taken) {
                require(quota.take(bytesOfResult - taken));
            } else {
                quota.give(taken - bytesOfResult);
            }
            taken = bytesOfResult;
        }

        private void append(Buffer piece) {
            int needed = length + piece.length();
            if (needed > limits.bodyBytes()) {
                throw tooLarge();
            }
            if (needed > bytes.length) {
                // What it said of its length is set aside already, and an array of that length needs no copy.
                int room = needed <= announced
                        ? announced
                        : Math.min(limits.bodyBytes(), Math.max(needed, Math.max(FIRST_BYTES, bytes.length << 1)));
                if (room > taken) {
                    require(quota.take(room - taken));
                    taken = room;
                }
                bytes = length == 0 && room > FIRST_BYTES && room <= spare.length
                        ? takeSpare()
                        : Arrays.copyOf(bytes, room);
            }
            piece.getBytes(0, piece.length(), bytes, length);
            length = needed;
        }

        @Override
        public void close() {
            quota.give(taken);
            taken = 0;
            bytes = new byte[0];
            length = 0;
        }
    }

    /** To be called before the request is answered to the event loop; the caller closes the body. */
    Future<Body> receive(HttpServerRequest request) {
        Promise<Body> received = Promise.promise();
        Body body = new Body();
        try {
            long announced = announced(request);
            if (announced > limits.bodyBytes()) {
                throw tooLarge();
            }
            require(quota.take(announced));
            body.announced = (int) announced;
            body.taken = announced;
        } catch (ApiError refusal) {
            return Future.failedFuture(refusal);
        }
        request.handler(piece -> {
            try {
                body.append(piece);
            } catch (ApiError refusal) {
                guard.discard(request);
                refuse(received, body, refusal);
            }
        });
        request.exceptionHandler(gone -> refuse(received, body, new HungUp()));
        guard.onBodyLate(request, () -> {
            guard.discard(request);
            refuse(
                    received,
                    body,
                    new ApiError(
                            408,
                            "The body did not arrive within "
                                    + limits.times().body().toSeconds() + " s; send it without a pause."));
        });
        request.end().onSuccess(end -> {
            if (!received.tryComplete(body)) {
                body.close();
            }
        });
        if ("100-continue".equalsIgnoreCase(request.getHeader("Expect"))) {
            request.response().writeContinue();
        }
        return received.future();
    }

    long used() {
        return quota.used();
    }

    private byte[] takeSpare() {
        byte[] taken = spare;
        spare = new byte[0];
        return taken;
    }

    private static void refuse(Promise<Body> received, Body body, Exception cause) {
        if (received.tryFail(cause)) {
            body.close();
        }
    }

    private static long announced(HttpServerRequest request) {
        String length = request.getHeader("Content-Length");
        try {
            return length == null ? 0 : Math.max(0, Long.parseLong(length.strip()));
        } catch (NumberFormatException e) {
            throw ApiError.badRequest("The Content-Length is not a number.");
        }
    }

    private ApiError tooLarge() {
        return new ApiError(
                413, "The body is larger than " + (limits.bodyBytes() >> 20) + " MiB; no prefix is that long.");
    }

    private void require(boolean fits) {
        if (!fits) {
            throw new ApiError(
                    503,
                    "Bodies of " + (limits.bodiesBytes() >> 20)
                            + " MiB are being received, which is the most; ask again when some of them are read.");
        }
    }

    /** The client is gone; there is nobody to answer, and nothing is broken. */
    static final class HungUp extends IOException {
        private static final long serialVersionUID = 1L;

        HungUp() {
            super("The client hung up before its request was complete.");
        }
    }
}
