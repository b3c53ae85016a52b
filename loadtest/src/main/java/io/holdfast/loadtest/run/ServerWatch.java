package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/*
 * Restarts
 * ========
 *
 * A server that dies and that a supervisor starts again answers at the same address with an empty cache and as
 * a process that is warming. Its legs look like any others, and the run would say that it rests on one process. So the
 * signs of the process are read before and after each leg, between the steps and never in them.
 *
 * Behind one address there may be several servers, of which now this one answers and now that. A server that was
 * restarted never answers as before; one of several does, when it is asked a few more times. Then the signs tell
 * nothing, and nothing is made of them for the rest of the run.
 */

/** Checks that the server that answers is still the same one, in the same process. */
final class ServerWatch {
    private static final int MOST_SERVERS = 16;

    private final EngineUnderTest engine;
    private final Map<Arm, Told> expected = new EnumMap<>(Arm.class);
    private Map<String, LifeSign> last = Map.of();
    private List<EngineShare> shares = List.of();
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
            last = Map.of();
        }
    }

    /**
     * Returns how the server changed since the run began, if it did: pairs on two servers are not of one experiment.
     */
    Optional<String> another(Arm arm) {
        Told now = new Told(engine.facts(), String.valueOf(engine.client().get("serves")));
        if (engine.givesFreshLegs()) {
            last = Map.of();
        }
        // Where pinned legs have a server of their own, the first of them shows what it is.
        Told before = expected.computeIfAbsent(engine.givesFreshLegs() ? arm : Arm.BASELINE, first -> now);
        return now.isLike(before)
                ? Optional.empty()
                : Optional.of(LegRecord.ANOTHER_SERVER + ": " + now.changes(before));
    }

    /** A server's own description. */
    private record Told(EngineFacts facts, String serves) {
        boolean isLike(Told other) {
            return facts.isLike(other.facts) && serves.equals(other.serves);
        }

        /**
         * Describes only what changed: nobody wants to compare the rest of two servers that differ in their model
         * alone.
         */
        String changes(Told before) {
            String model = "it serves the model '" + serves + "', and served '" + before.serves + "' before";
            String sizes = "it is " + facts.text() + ", and was " + before.facts.text() + " before";
            return serves.equals(before.serves) ? sizes : facts.isLike(before.facts) ? model : sizes + "; " + model;
        }
    }

    /** Returns the reason why a leg does not count if a process changed since the last call in this life. */
    Optional<String> restarted() {
        shares = List.of();
        if (several) {
            return Optional.empty();
        }
        Map<String, LifeSign> before = last;
        Map<String, LifeSign> now = engine.lifeSigns();
        last = new LinkedHashMap<>();
        now.forEach((name, sign) -> last.put(name, sign.orAsIn(signOf(name, before))));
        Optional<String> another = now.keySet().stream()
                .filter(name -> signOf(name, now).isOfAnotherThan(signOf(name, before)))
                .findFirst();
        if (another.isEmpty()) {
            shares = now.keySet().stream()
                    .flatMap(name -> signOf(name, now).since(name, signOf(name, before)).stream())
                    .toList();
            return Optional.empty();
        }
        String name = another.get();
        for (int asked = 0; asked < MOST_SERVERS; asked++) {
            LifeSign again = signOf(name, engine.lifeSigns());
            if (again.isOfAnotherThan(signOf(name, now)) || !again.isOfAnotherThan(signOf(name, before))) {
                several = true;
                return Optional.empty();
            }
        }
        last = now;
        return Optional.of(LegRecord.RESTARTED
                + ": the process that answers is another one than before, with an empty cache; find out why it ended");
    }

    /** Returns what each engine counted between the last two calls of its counters, as far as it counts. */
    List<EngineShare> shares() {
        return shares;
    }

    private static LifeSign signOf(String name, Map<String, LifeSign> of) {
        return of.getOrDefault(name, LifeSign.unknown());
    }
}
