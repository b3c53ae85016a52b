package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/*
 * Restarts
 * ========
 *
 * A server that dies and is started again by whoever looks after it answers at the same address with an empty cache and as
 * a process that is warming. Its legs look like any others, and the run would say that it rests on one process. So the signs
 * of the process are read before and after each leg, between the steps and never in them.
 *
 * Behind one address there may be several servers, of which now this one answers and now that. A server that was restarted
 * never answers as before; one of several does, when it is asked a few more times. Then the signs tell nothing, and nothing
 * is made of them for the rest of the run.
 */

/** Whether it is still the server, and still the process of it, that answers. */
final class ServerWatch {
    private static final int MOST_SERVERS = 16;

    private final EngineUnderTest engine;
    private final Map<Arm, Told> expected = new EnumMap<>(Arm.class);
    private LifeSign last = LifeSign.unknown();
    private boolean several;

    ServerWatch(EngineUnderTest engine, RunHeader header) {
        this.engine = engine;
        expected.put(
                Arm.BASELINE,
                new Told(header.engine(), String.valueOf(header.client().get("serves"))));
    }

    /** A pair begins, in a process of its own where the engine gives one. */
    void pairBegins() {
        if (engine.givesFreshLives()) {
            last = LifeSign.unknown();
        }
    }

    /** What answers now, where that is no longer what the run began with: pairs on two servers are not of one experiment. */
    Optional<String> another(Arm arm) {
        Told now = new Told(engine.facts(), String.valueOf(engine.client().get("serves")));
        if (engine.givesFreshLegs()) {
            last = LifeSign.unknown();
        }
        // Where pinned legs have a server of their own, the first of them shows what it is.
        Told before = expected.computeIfAbsent(engine.givesFreshLegs() ? arm : Arm.BASELINE, first -> now);
        return now.isLike(before)
                ? Optional.empty()
                : Optional.of(LegRecord.ANOTHER_SERVER + ": " + now.text() + " in place of " + before.text());
    }

    /** What a server says of itself. */
    private record Told(EngineFacts facts, String serves) {
        boolean isLike(Told other) {
            return facts.isLike(other.facts) && serves.equals(other.serves);
        }

        String text() {
            return facts.text() + ", model " + serves;
        }
    }

    /** Whether the process is another one than when this was asked last in this life, as a reason why a leg is none. */
    Optional<String> restarted() {
        if (several) {
            return Optional.empty();
        }
        LifeSign before = last;
        LifeSign now = engine.lifeSign();
        last = now.orAsIn(before);
        if (!now.isOfAnotherThan(before)) {
            return Optional.empty();
        }
        for (int asked = 0; asked < MOST_SERVERS; asked++) {
            LifeSign again = engine.lifeSign();
            if (again.isOfAnotherThan(now) || !again.isOfAnotherThan(before)) {
                several = true;
                return Optional.empty();
            }
        }
        last = now;
        return Optional.of(LegRecord.RESTARTED
                + ": the process that answers is another one than before, with an empty cache; find out why it ended");
    }
}
