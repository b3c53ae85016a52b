package io.holdfast.app;

import io.holdfast.app.loadtest.LoadtestPlace;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.EngineDoor;
import io.holdfast.loadtest.session.LoadTestSession;
import java.util.Optional;
import picocli.CommandLine.IFactory;

/**
 * The place of load tests whose times nobody asks for: real engines over sockets, by a clock that jumps over the slots of
 * legs, and with a client that is not warmed up.
 */
final class QuickPlace implements IFactory {
    private final IFactory others;

    QuickPlace(IFactory others) {
        this.others = others;
    }

    @Override
    public <K> K create(Class<K> type) throws Exception {
        return type == LoadtestPlace.class
                ? type.cast(new LoadtestPlace(new JumpingClock(Thread.currentThread()), new ColdDoor()))
                : others.create(type);
    }

    /** Over HTTP, with clients as they begin. */
    private static final class ColdDoor implements EngineDoor {
        private final EngineDoor http = EngineDoor.overHttp();

        @Override
        public Opened open(LoadTestSession.Host host, ServerUnit unit, Asking asking, ArmPlan arm) {
            return http.open(host, unit, asking, arm);
        }

        @Override
        public Optional<String> warm(HttpEngine engine) {
            return Optional.empty();
        }
    }
}
