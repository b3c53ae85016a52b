package io.holdfast.app.loadtest;

import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.StopOnSignal;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunStop;
import io.vertx.core.Vertx;
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
    /** With an engine and an arm, both of which are closed at the end. */
    public <T> T with(ServerUnit server, HttpSettings asked, ArmOptions.Way way, Body<T> body) {
        Vertx vertx = OwnVertx.start();
        try (HttpEngine engine = new HttpEngine(vertx, server, asked, clock, this::tell);
                ArmSwitch arms = way.on(engine, clock)) {
            try {
                return body.run(engine, new RunEnvironment(engine, arms, clock, stop));
            } catch (RuntimeException e) {
                if (stop.isAsked()) {
                    stop.notice();
                }
                throw e;
            }
        } finally {
            vertx.close().await();
        }
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
