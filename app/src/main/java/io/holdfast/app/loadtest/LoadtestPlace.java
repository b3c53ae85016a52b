package io.holdfast.app.loadtest;

import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.session.EngineDoor;

/**
 * Time that the load tests of a command line run in, and the way to their engines. The factory of the command line makes
 * it, so that a program can hand in another clock and engines of its own.
 */
public record LoadtestPlace(RunClock clock, EngineDoor door) {
    /** Creates the usual place: the machine's clock, and engines behind HTTP. */
    public LoadtestPlace() {
        this(RunClock.system(), EngineDoor.overHttp());
    }
}
