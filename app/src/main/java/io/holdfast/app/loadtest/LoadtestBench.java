package io.holdfast.app.loadtest;

import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.StopOnSignal;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunStop;
import io.holdfast.loadtest.session.ArmCommands;
import io.holdfast.loadtest.session.LoadTestSession;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.function.IntSupplier;

/**
 * What every load test of the command line stands on: an engine behind HTTP with its client, an arm, and an end by Ctrl-C
 * that leaves nothing behind.
 *
 * @param stop asked by a signal
 * @param beside where people are told what is going on
 */
public record LoadtestBench(RunClock clock, RunStop stop, PrintWriter beside) {
    /** With an engine and no arm, both of which are closed at the end. */
    public <T> T with(ServerUnit server, HttpSettings asked, Body<T> body) {
        try (LoadTestSession session = new LoadTestSession(host(), server, asked, ArmPlan.none(), ArmCommands.none())) {
            return body.run(session.engine(), session.environment());
        }
    }

    /** A place for one session. */
    public LoadTestSession.Host host() {
        return new LoadTestSession.Host(OwnVertx.start(), clock, stop, this::tell);
    }

    /** Says what is being waited for. */
    public void tell(String sentence) {
        TerminalText.plain(beside).text(sentence);
        beside.flush();
    }

    /**
     * Does all that a command does; when it is stopped, tells how far the run has come and how to go on.
     *
     * @param again what has to be written after {@code resume} and the file
     */
    static int untilStopped(
            PrintWriter out, PrintWriter beside, OutputOptions output, Path journal, String again, Work work) {
        return untilStopped(beside, work, () -> StatusReport.stopped(out, output, journal, again));
    }

    /** The same with another end where it is stopped. */
    public static int untilStopped(PrintWriter beside, Work work, IntSupplier stopped) {
        RunStop stop = new RunStop(Thread.currentThread());
        StopOnSignal signal = new StopOnSignal(stop);
        try {
            return work.run(new LoadtestBench(RunClock.system(), stop, beside));
        } catch (RuntimeException e) {
            if (!stop.isAsked()) {
                throw e;
            }
            stop.notice();
            return stopped.getAsInt();
        } finally {
            signal.close();
        }
    }

    /** What is done with the engine. */
    public interface Body<T> {
        T run(HttpEngine engine, RunEnvironment environment);
    }

    /** All of it. */
    public interface Work {
        int run(LoadtestBench bench);
    }
}
