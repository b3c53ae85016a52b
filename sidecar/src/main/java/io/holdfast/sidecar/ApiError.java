package io.holdfast.sidecar;

/** An answer that is not what was asked for: its HTTP status and one sentence. */
final class ApiError extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final int status;

    ApiError(int status, String sentence) {
        // No stack trace: nothing is broken here.
        super(sentence, null, false, false);
        this.status = status;
    }

    static ApiError badRequest(String sentence) {
        return new ApiError(400, sentence);
    }

    int status() {
        return status;
    }

    String sentence() {
        String message = getMessage();
        return message == null ? "" : message;
    }
}
