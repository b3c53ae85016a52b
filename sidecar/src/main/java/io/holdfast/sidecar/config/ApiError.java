package io.holdfast.sidecar.config;

/** An answer that is not what was asked for: its HTTP status and one sentence. */
public final class ApiError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;
    private final boolean yet;

    public ApiError(int status, String sentence) {
        this(status, sentence, false);
    }

    private ApiError(int status, String sentence, boolean yet) {
        // No stack trace: nothing is broken here.
        super(sentence, null, false, false);
        this.status = status;
        this.yet = yet;
    }

    /** Makes an answer that cannot be told yet, since the engine has not shown it or does not answer now. */
    public static ApiError notYet(int status, String sentence) {
        return new ApiError(status, sentence, true);
    }

    public boolean yet() {
        return yet;
    }

    public static ApiError badRequest(String sentence) {
        return new ApiError(400, sentence);
    }

    public int status() {
        return status;
    }

    public String sentence() {
        String message = getMessage();
        return message == null ? "" : message;
    }
}
