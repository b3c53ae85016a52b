package io.holdfast.rules.engine;

/** The time in which the emulated GPU works: the machine's for a server, {@link VirtualClock} where nobody is to wait. */
public interface EngineClock {
    /** A monotonic time. */
    long nanos();

    /** The wall clock's time, as engines stamp events and answers with it. */
    double unixSeconds();

    /**
     * Waits for the deadline on {@link #nanos}. May return earlier, for one when the thread is unparked: the caller looks at
     * the time again.
     */
    void await(long deadlineNanos);
}
