package io.holdfast.app.loadtest;

import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.StopOnSignal;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunStop;
import io.holdfast.loadtest.session.LoadTestSession;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.function.Function;
import java.util.function.IntSupplier;
import picocli.CommandLine;

/**
 * Ground that every load test of the command line stands on: the way to its engine, and an end by Ctrl-C that leaves nothing
 * behind.
 *
 * @param stop asked by a signal
 * @param beside where people are told what is going on
 */
public record LoadtestBench(LoadtestPlace place, RunStop stop, PrintWriter beside) {
    public RunClock clock() {
        return place.clock();
    }

    /** With an engine behind HTTP and no arm; the engine is closed at the end. */
    public <T> T with(ServerUnit server, HttpSettings asked, Function<HttpEngine, T> body) {
        Vertx vertx = OwnVertx.start();
        try (HttpEngine engine = new HttpEngine(vertx, server, asked, clock(), this::tell)) {
            return body.apply(engine);
        } finally {
            if (stop.isAsked()) {
                stop.notice();
            }
            vertx.close().await();
        }
    }

    /** Makes the client of an engine as fast as it gets, before what it measures. */
    public void warm(HttpEngine engine) {
        place.door().warm(engine).ifPresent(this::tell);
    }

    /** A place for one session. */
    public LoadTestSession.Host host() {
        return new LoadTestSession.Host(OwnVertx.start(), clock(), stop, this::tell, place.door());
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
            CommandLine command, PrintWriter beside, OutputOptions output, Path journal, String again, Work work) {
        return untilStopped(
                command, beside, work, () -> StatusReport.stopped(command.getOut(), output, journal, again));
    }

    /** The same with another end where it is stopped. */
    public static int untilStopped(CommandLine command, PrintWriter beside, Work work, IntSupplier stopped) {
        RunStop stop = new RunStop(Thread.currentThread());
        StopOnSignal signal = new StopOnSignal(stop);
        try {
            return work.run(new LoadtestBench(place(command), stop, beside));
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

    private static LoadtestPlace place(CommandLine command) {
        try {
            return command.getFactory().create(LoadtestPlace.class);
        } catch (Exception e) {
            throw new IllegalStateException("The command line's factory makes no place for load tests.", e);
        }
    }

    /** All of it. */
    public interface Work {
        int run(LoadtestBench bench);
    }
}
