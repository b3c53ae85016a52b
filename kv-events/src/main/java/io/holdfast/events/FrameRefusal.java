package io.holdfast.events;

/** Reason why a frame is no batch of events. Thrown for what peers send, so it carries no stack trace. */
final class FrameRefusal extends Exception {
    private static final long serialVersionUID = 1;

    private final String why;

    FrameRefusal(String why) {
        super(why, null, false, false);
        this.why = why;
    }

    String why() {
        return why;
    }
}
