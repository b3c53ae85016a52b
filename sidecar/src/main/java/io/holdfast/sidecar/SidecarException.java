package io.holdfast.sidecar;

/** A sidecar that cannot start, or an engine that cannot be looked at: one sentence that names the cause and the mend. */
public final class SidecarException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    SidecarException(String sentence) {
        super(sentence);
    }

    SidecarException(String sentence, Throwable cause) {
        super(sentence, cause);
    }
}
