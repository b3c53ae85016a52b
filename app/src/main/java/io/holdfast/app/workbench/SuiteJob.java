package io.holdfast.app.workbench;

import io.holdfast.app.loadtest.LoadtestBench;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

/** A suite of legs as a command brings it to {@link SuiteOptions}, which runs it. */
interface SuiteJob {
    Duration USUAL_TIMEOUT = Duration.ofMinutes(2);

    /** Name in files and plans. */
    String name();

    /** Plans the legs once the server answers. */
    Planned plan(Seat seat);

    /** Tells what the legs came to, once they are over, and returns the exit code. */
    int finish(Over over);

    /** Returns the route that is chosen unless the user chooses one; absent where the server decides. */
    default Optional<SuiteOptions.Api> api() {
        return Optional.empty();
    }

    default Duration requestTimeout() {
        return USUAL_TIMEOUT;
    }

    /** Returns the warm-ups of each life of the server; absent where each load has its own. */
    default Optional<Integer> warmUps() {
        return Optional.empty();
    }

    /** Returns the time between two legs in which nothing is sent. */
    default Duration cooldown() {
        return Duration.ZERO;
    }

    /** Returns how the server is started first, where it is started here. */
    default StartedServer.Variant first() {
        return StartedServer.Variant.none();
    }

    /** Makes the server that is asked. */
    default ServerUnit unit(ServerOptions options, URI server, Optional<String> model, Path log, LoadtestBench bench) {
        return options.unit(server, model, Optional.empty(), List.of(), Map.of(), log, bench);
    }

    /**
     * The server that legs are planned for.
     *
     * @param flushes says whether the server's cache can be emptied, which it is by asking
     * @param starts told how the server is to be started before it begins another life
     * @param warmUps requests of each life
     * @param missing counts those of some legs that are still to be run
     * @param tell receives sentences for people
     */
    record Seat(
            HttpEngine engine,
            RunClock clock,
            BooleanSupplier flushes,
            Consumer<StartedServer.Variant> starts,
            int warmUps,
            ToIntFunction<List<Suite.Leg>> missing,
            Consumer<String> tell) {}

    /**
     * A suite that is about to run.
     *
     * @param settings that hold for all of it
     * @param shown makes of a leg's result what is written
     */
    record Planned(
            Map<String, String> settings,
            List<Suite.Leg> legs,
            Suite.Between between,
            Suite.Servers servers,
            BiFunction<LoadLeg, LoadResult, LoadResult> shown) {
        /** Sends all legs to one server alike. */
        static Planned of(Map<String, String> settings, List<Suite.Leg> legs, Seat seat) {
            return new Planned(
                    settings, legs, Suite.Between.nothing(), Suite.Servers.one(seat.engine()), (leg, result) -> result);
        }
    }

    /** Legs that are over. */
    record Over(LoadFolder folder, ResultFile results, EngineFacts facts, Instant begun, PrintWriter out) {
        /** Returns a file for the results that is not there yet. */
        Path file() {
            return ResultFile.freeName(folder.path(), results.suite(), results.model(), begun, ".json");
        }

        /** Writes a text that can be computed again. */
        void write(String name, String text) {
            MatrixText.write(folder.path().resolve(name), text);
        }
    }
}
