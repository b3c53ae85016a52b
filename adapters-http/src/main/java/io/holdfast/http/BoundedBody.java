package io.holdfast.http;

import java.io.IOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;

/** A body as text that is given up once it is longer than any answer of an engine. */
final class BoundedBody implements BodySubscriber<String> {
    /** Metrics of an engine are below 0.1 MiB, its answers to us below 1 KiB. */
    static final int LARGEST = 16 << 20;

    private final BodySubscriber<String> text = BodySubscribers.ofString(StandardCharsets.UTF_8);
    private Flow.@Nullable Subscription source;
    private long bytes;

    @Override
    public CompletionStage<String> getBody() {
        return text.getBody();
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
        source = subscription;
        text.onSubscribe(subscription);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            bytes += buffer.remaining();
        }
        if (bytes <= LARGEST) {
            text.onNext(buffers);
        } else if (source != null) {
            source.cancel();
            text.onError(new TooLong());
        }
    }

    @Override
    public void onError(Throwable failure) {
        text.onError(failure);
    }

    @Override
    public void onComplete() {
        if (bytes <= LARGEST) {
            text.onComplete();
        }
    }

    /** The body went on beyond {@link #LARGEST}. */
    static final class TooLong extends IOException {
        private static final long serialVersionUID = 1;

        TooLong() {
            super("the answer is longer than " + LARGEST + " bytes");
        }
    }
}
