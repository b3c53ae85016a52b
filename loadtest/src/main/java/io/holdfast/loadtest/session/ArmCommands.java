package io.holdfast.loadtest.session;

import io.holdfast.core.backend.Backend;
import io.holdfast.http.EngineHttp;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.client.AutomaticHolds;
import io.holdfast.loadtest.client.SidecarHolder;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.Way;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.sglang.SessionHoldBackend;
import io.holdfast.sglang.StreamingSessionBackend;
import io.holdfast.vllm.ConnectorBackend;
import io.holdfast.vllm.ConnectorSecret;
import io.holdfast.vllm.NixlLeaseBackend;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.ScheduledExecutorService;

/**
 * Commands and the secret of an arm. They are handed in at each start, since no plan keeps any.
 *
 * @param on switches on in pinned legs, where the arm is two commands
 * @param off switches off
 * @param server starts the server of pinned legs, where the arm is another server
 * @param connector the secret of the engine's connector, where one is asked
 */
public record ArmCommands(
        Optional<String> on, Optional<String> off, Optional<String> server, Optional<ConnectorSecret> connector) {
    private static final Duration LEASE = Duration.ofHours(1);

    /** Returns the commands of an arm that has none. */
    public static ArmCommands none() {
        return new ArmCommands(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
    }

    /** Returns these with the secret of the engine's connector. */
    public ArmCommands withConnector(String secret) {
        return new ArmCommands(on, off, server, Optional.of(ConnectorSecret.of(secret)));
    }

    ArmSwitch make(ArmPlan plan, EngineUnderTest engine, RunClock clock) {
        long nonce = new SplittableRandom().nextLong();
        return switch (plan) {
            case ArmPlan.ByEngine its ->
                switch (its.means()) {
                    case SESSION -> Arms.session(engine, nonce);
                    case PIN_ROUTE -> Arms.pinRoute(engine);
                    case PIN_TOLD -> Arms.pinTold(engine);
                    case EVERYTHING -> Arms.everything(engine, nonce);
                    case VLLM_CONNECTOR -> Arms.way(engine, clock, connector(clock));
                    case STREAMING_SESSION -> Arms.way(engine, clock, ArmCommands::streamingSession);
                    case NONE -> Arms.none();
                };
            case ArmPlan.KeepWarm its -> Arms.keepWarm(engine, its.every());
            case ArmPlan.NixlLease its ->
                Arms.way(
                        engine,
                        clock,
                        (http, timer) -> new NixlLeaseBackend(http, timer, Duration.ofSeconds(its.seconds())));
            case ArmPlan.Release its ->
                Arms.release(
                        engine,
                        clock,
                        List.of(
                                connector(clock),
                                ArmCommands::streamingSession,
                                (http, timer) -> new SessionHoldBackend(http, timer, new SplittableRandom())),
                        its);
            case ArmPlan.Beside its ->
                its.automatic()
                        ? new AutomaticHolds(its.address(), its.engine(), clock)
                        : new SidecarHolder(its.address(), its.engine(), LEASE, clock);
            case ArmPlan.Commands its -> Arms.command(on.orElseThrow(), off.orElseThrow(), its.claimHold());
            case ArmPlan.AnotherServer _ -> Arms.anotherServer(server.orElseThrow());
        };
    }

    private Way connector(RunClock clock) {
        return (http, timer) -> new ConnectorBackend(http, connector, clock::now, new SplittableRandom());
    }

    private static Backend streamingSession(EngineHttp http, ScheduledExecutorService timer) {
        return new StreamingSessionBackend(http, timer, new SplittableRandom());
    }
}
