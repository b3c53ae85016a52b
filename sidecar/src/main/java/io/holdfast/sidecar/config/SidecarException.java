package io.holdfast.sidecar.config;

/** A sidecar that cannot start, or an engine that cannot be looked at: one sentence that names the cause and the mend. */
public final class SidecarException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public SidecarException(String sentence) {
        super(sentence);
    }

    public SidecarException(String sentence, Throwable cause) {
        super(sentence, cause);
    }
}
