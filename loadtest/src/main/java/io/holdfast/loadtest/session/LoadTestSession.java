package io.holdfast.loadtest.session;

import io.holdfast.evidence.Design;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.run.AroundLegs;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.LoadTestRun;
import io.holdfast.loadtest.run.Progress;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.run.RunEnvironment;
import io.holdfast.loadtest.run.RunPlan;
import io.holdfast.loadtest.run.RunStop;
import io.holdfast.loadtest.workload.Salt;
import io.holdfast.loadtest.workload.Workload;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * A load test at one server: the engine with its client, and the arm of the plan, both closed at the end.
 *
 * <p>Each command of the load test takes the same way: its options make a {@link LoadTestPlan}, the session runs it or
 * goes on with its journal, and what comes of it is reported.
 */
public final class LoadTestSession implements AutoCloseable {
    private final Host host;
    private final HttpSettings asked;
    private final EngineUnderTest engine;
    private final RunEnvironment environment;

    /**
     * Place where a session runs.
     *
     * @param vertx closed with the session
     * @param told hears what is being waited for
     * @param door opens the engine
     */
    public record Host(Vertx vertx, RunClock clock, RunStop stop, Consumer<String> told, EngineDoor door) {}

    /**
     * Things beside the legs of a run.
     *
     * @param measuredOn looks at machine, GPUs and versions; asked once the server is there
     */
    public record Bed(AroundLegs around, Supplier<Map<String, String>> measuredOn) {}

    /** Rule by which the cache is emptied before a leg; where it is not, the texts of each leg begin with a salt. */
    public enum Emptying {
        /** By the engine's own route where it has one. */
        WHERE_POSSIBLE,
        /** By a route that was named. */
        WHERE_NAMED,
        /** Always, since every leg sends the same texts; a run where that fails is refused. */
        ALWAYS
    }

    /**
     * A plan at its server, before anything of it is sent.
     *
     * @param test the plan with what the server decided of it
     * @param flushes whether the cache is emptied before each leg
     */
    public record Preview(
            LoadTestPlan test, HttpSettings asked, RunEnvironment environment, RunPlan run, boolean flushes) {}

    /** Outcome of a load test. */
    public sealed interface Outcome {
        /** Result of a run with arms. */
        record Judged(Result result) implements Outcome {}

        /** Result of A/A pairs alone. */
        record Controls(ControlResult result) implements Outcome {}
    }

    /** Opens the session of a plan at a server, which begins a life; the unit stays the caller's. */
    public static LoadTestSession open(Host host, ServerUnit unit, Asking asking, ArmPlan arm, ArmCommands commands) {
        try {
            unit.restart();
            return new LoadTestSession(host, host.door().open(host, unit, asking, arm), arm, commands);
        } catch (RuntimeException e) {
            host.vertx().close().await();
            throw e;
        }
    }

    private LoadTestSession(Host host, EngineDoor.Opened opened, ArmPlan arm, ArmCommands commands) {
        this.host = host;
        this.asked = opened.asked();
        this.engine = opened.engine();
        this.environment =
                new RunEnvironment(engine, commands.make(arm, engine, host.clock()), host.clock(), host.stop());
    }

    /** Tries a few requests of each kind, and estimates the run; nothing of it is sent. */
    public Preview preview(LoadTestPlan plan, Workload workload, Emptying emptying) {
        engine.beginLife();
        boolean flushes = switch (emptying) {
            case WHERE_NAMED ->
                plan.target().flatMap(LoadTestPlan.Target::flushPath).isPresent();
            case WHERE_POSSIBLE ->
                plan.target().flatMap(LoadTestPlan.Target::flushPath).isPresent()
                        || (engine.facts().family() == Family.SGLANG
                                && engine.flush().isEmpty());
            case ALWAYS -> flushed();
        };
        LoadTestPlan test = flushes
                ? plan
                : plan.toBuilder()
                        .salt(new Salt(new SplittableRandom().nextLong()))
                        .build();
        return new Preview(test, asked, environment, RunPlan.of(environment, workload, test), flushes);
    }

    private boolean flushed() {
        engine.flush().ifPresent(why -> {
            throw new LoadTestException("The cache cannot be emptied before a leg, and the benchmark sends the same"
                    + " prompts in every leg: " + why + "; name the route by --flush-path.");
        });
        return true;
    }

    /** Warms this client, so that its first leg is like the others. */
    public void warm() {
        if (engine instanceof HttpEngine http) {
            host.door().warm(http).ifPresent(host.told());
        }
    }

    /**
     * Runs a plan from its beginning.
     *
     * @param journal a file that does not exist yet
     */
    public Outcome run(LoadTestPlan test, Workload workload, Path journal, Bed bed, Progress progress) {
        RunEnvironment its = environment.with(bed.around(), bed.measuredOn().get());
        return test.design() == Design.CONTROLS
                ? new Outcome.Controls(LoadTestRun.controls(its, workload, test, journal, progress))
                : new Outcome.Judged(LoadTestRun.run(its, workload, test, journal, progress));
    }

    /**
     * Goes on with the run of a journal.
     *
     * @param begins called once it is known that the run can go on
     */
    public Outcome goOn(Workload workload, Path journal, Bed bed, Runnable begins, Progress progress) {
        RunEnvironment its = environment.with(bed.around(), Map.of());
        boolean[] begun = {false};
        Progress shown = event -> {
            if (!begun[0]) {
                begun[0] = true;
                begins.run();
                warm();
            }
            progress.on(event);
        };
        return Journal.read(journal).header().plan().isOnlyControls()
                ? new Outcome.Controls(LoadTestRun.resumeControls(its, workload, journal, shown))
                : new Outcome.Judged(LoadTestRun.resume(its, workload, journal, shown));
    }

    @Override
    public void close() {
        if (host.stop().isAsked()) {
            host.stop().notice();
        }
        try (engine;
                var _ = environment.arms()) {
            // Both are closed, the arm first.
        } finally {
            host.vertx().close().await();
        }
    }
}
