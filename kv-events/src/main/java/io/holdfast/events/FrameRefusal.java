package io.holdfast.events;

import java.io.IOException;

/** Why a frame is no batch of events. Thrown for what peers send, so it carries no stack trace. */
final class FrameRefusal extends IOException {
    private static final long serialVersionUID = 1;

    private final String why;

    FrameRefusal(String why) {
        super(why);
        this.why = why;
    }

    String why() {
        return why;
    }

    @Override
    @SuppressWarnings("UnsynchronizedOverridesSynchronized")
    public Throwable fillInStackTrace() {
        return this;
    }
}
