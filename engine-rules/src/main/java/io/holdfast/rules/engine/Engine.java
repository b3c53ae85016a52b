package io.holdfast.rules.engine;

/** An engine behind its HTTP server, from a start to the next: a cache and the scheduler over it. One thread calls it. */
public interface Engine {
    void submit(Generation request);

    /** The client went away: the request is dropped, or ends with what it has. */
    void abort(Generation request);

    /** One pass of the engine's loop, which takes as long as the GPU would; false when there was nothing to be done. */
    boolean step();

    /** Requests answered in full so far; from any thread. */
    long answered();
}
