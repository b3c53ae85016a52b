package io.holdfast.loadtest.journal;

/** Outcome of one request. Only {@link #OK} requests enter latency statistics. */
public enum RequestStatus {
    /** The stream was whole and had at least one token. */
    OK,
    /** The stream was whole and had no token, or nothing but white space where tokens are not counted. */
    EMPTY,
    /** The engine answered with another status than 200. */
    HTTP_ERROR,
    /** There was no connection, or the stream broke off, was not understood or carried an error. */
    BROKEN_STREAM,
    /** The stream was not over in time. */
    TIMED_OUT,
    /** The record contradicts itself: output before the request was sent, or more cached tokens than the prompt has. */
    IMPOSSIBLE,
    /** Its turn came while as many requests as the client has connections for were under way, so it was never sent. */
    NOT_SENT
}
