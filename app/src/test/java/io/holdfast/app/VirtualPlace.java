package io.holdfast.app;

import io.holdfast.app.loadtest.LoadtestPlace;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.EngineDoor;
import io.holdfast.loadtest.session.LoadTestSession;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** The place of load tests in virtual time: whatever address they name, an engine's rules in this process answer. */
final class VirtualPlace implements IFactory {
    /** An address that nobody listens at. */
    static final String ENGINE = "http://127.0.0.1:1";

    private final VirtualServer server;

    private VirtualPlace(VirtualServer server) {
        this.server = server;
    }

    /** Returns the place of an SGLang as released, which keeps what sessions refer to. */
    static VirtualPlace sessions() {
        return new VirtualPlace(VirtualServer.sglang(
                SglangSettings.defaults().withSizes(2_048, 16, 1_024).withSessions(true),
                new Speed(5, 500, 1_000, 1),
                1));
    }

    @Override
    public <K> K create(Class<K> type) throws Exception {
        return type == LoadtestPlace.class
                ? type.cast(new LoadtestPlace(server.clock(), new Door()))
                : CommandLine.defaultFactory().create(type);
    }

    private final class Door implements EngineDoor {
        @Override
        public Opened open(LoadTestSession.Host host, ServerUnit unit, Asking asking, ArmPlan arm) {
            return new Opened(server.engine(), asking.http().withRoute(CompletionRoute.SGLANG_GENERATE));
        }

        @Override
        public Optional<String> warm(HttpEngine engine) {
            return Optional.empty();
        }
    }
}
