package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import java.util.function.Supplier;

/*
 * How a run is stopped
 * ====================
 *
 * A run waits on one thread, mostly for a load of minutes, so a stop interrupts that thread. Two things must not
 * be cut in half by that: a line of the journal, and a call that holds. Of a hold whose answer was not waited for
 * nobody knows the name, so nobody could release it. Such work is done under a shield: an interrupt waits until it is
 * over.
 *
 * Once the stop was noticed, what is left to do is releasing and writing down. No interrupt comes any more then.
 */

/** Asks the run of one thread to stop, from any other. */
public final class RunStop {
    private final Thread runner;
    private boolean asked;
    private boolean noticed;
    private int shields;

    /** @param runner the thread that the run is on */
    public RunStop(Thread runner) {
        this.runner = runner;
    }

    /** Ends what the run waits for, once it may end. */
    public synchronized void ask() {
        asked = true;
        if (shields == 0 && !noticed) {
            runner.interrupt();
        }
    }

    /** Ends it now, if it has not yet noticed. */
    public synchronized void insist() {
        asked = true;
        if (!noticed) {
            runner.interrupt();
        }
    }

    /** Returns true if the run was asked to stop. */
    public synchronized boolean isAsked() {
        return asked;
    }

    /** Notes the stop; from here on nothing is interrupted any more. Called on the run's thread. */
    public synchronized void notice() {
        noticed = true;
        // The flag would end whatever is waited for next.
        boolean cleared = Thread.interrupted();
        asked |= cleared;
    }

    /** Does something that no stop cuts in half; does not begin it when there was one. Called on the run's thread. */
    <T> T shielded(Supplier<T> body) {
        if (raise()) {
            lower();
            throw new LoadTestException("The load test was stopped.");
        }
        try {
            return body.get();
        } finally {
            lower();
        }
    }

    /** Does a shielded task; once the run was stopped only the stop ends it, whatever it looked like to its code. */
    <T> T guarded(Supplier<T> task) {
        try {
            return shielded(task);
        } catch (RuntimeException e) {
            throw isAsked() ? stopped(e) : e;
        }
    }

    /** Notes the stop, and returns the exception that says so. */
    RunStopped stopped(RuntimeException cause) {
        notice();
        return new RunStopped(cause);
    }

    /** Does something that no stop keeps from being done, nor cuts in half. Called on the run's thread. */
    void always(Runnable body) {
        raise();
        try {
            body.run();
        } finally {
            lower();
        }
    }

    /** Raises the shield; returns true if an earlier stop was not noticed yet. */
    private synchronized boolean raise() {
        // An interrupt of the thread without a request means the same, and no channel may see the flag.
        boolean interrupted = Thread.interrupted();
        asked |= interrupted && !noticed;
        shields++;
        return asked && !noticed;
    }

    private synchronized void lower() {
        shields--;
        if (asked && !noticed && shields == 0) {
            runner.interrupt();
        }
    }

    void shielded(Runnable body) {
        shielded(() -> {
            body.run();
            return this;
        });
    }
}
