package io.holdfast.workbench.load;

import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Load legs one after the other, each in the folder before the next begins. Of a suite that was begun before, the legs
 * that are not there run.
 */
public final class Suite {
    private final List<Leg> legs;
    private final Servers servers;
    private final Between between;
    private final ColdLegs cold;
    private final RunClock clock;
    private final Watcher watcher;

    /**
     * A leg that is planned.
     *
     * @param id path-like, of its own in the suite
     * @param settings of the server and of the load, by name
     */
    public record Leg(String id, DrawnLoad load, Map<String, String> settings) {}

    /** Provider of the server that a leg is sent to. */
    public interface Servers {
        /**
         * The server for a leg, which has answered a real request; where the last one had other settings, begun anew.
         *
         * @throws NoServerException where there is none for this leg, and may be one for others
         */
        EngineUnderTest of(Leg leg);

        /** Names the life of the server that a leg is sent to; legs with the same name share its process. */
        default String life(Leg leg) {
            return "";
        }

        /** Uses the same server for all legs. */
        static Servers one(EngineUnderTest engine) {
            return leg -> engine;
        }
    }

    /** The server of a leg did not start: the leg has that for its problem, and the others go on. */
    public static final class NoServerException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        /** @param why in a clause */
        public NoServerException(String why) {
            super(why);
        }
    }

    /** Runs before a leg, in no figure. */
    public interface Between {
        /** Returns notes about it, by name. */
        Map<String, String> before(Leg next, EngineUnderTest engine);

        /** A leg is over and in the folder. */
        default void after(LoadLeg ended) {}

        /** Returns true if this leg is to be begun; if not, the suite ends here and can be continued later. */
        default boolean goesOn(Leg next) {
            return true;
        }

        static Between nothing() {
            return (next, engine) -> Map.of();
        }
    }

    /** Listener to the progress of a suite. */
    public interface Watcher {
        /**
         * A leg is about to be run.
         *
         * @param number from 1, among all that are planned
         */
        void begins(Leg leg, int number, int of);

        void ended(LoadLeg leg);
    }

    /** A suite whose legs find the server's cache as it is. */
    public Suite(List<Leg> legs, Servers servers, Between between, RunClock clock, Watcher watcher) {
        this(legs, servers, between, ColdLegs.asFound(), clock, watcher);
    }

    /** A suite whose legs do not find what others left there. */
    public Suite(List<Leg> legs, Servers servers, Between between, ColdLegs cold, RunClock clock, Watcher watcher) {
        this.legs = List.copyOf(legs);
        this.servers = servers;
        this.between = between;
        this.cold = cold;
        this.clock = clock;
        this.watcher = watcher;
    }

    /** Returns the plan with which a folder of the suite is begun. */
    public static LoadFolder.Plan plan(String suite, Map<String, String> settings, List<Leg> legs) {
        Map<String, String> ids = new LinkedHashMap<>();
        legs.forEach(leg -> ids.put(leg.id(), leg.load().id()));
        return new LoadFolder.Plan(suite, settings, ids);
    }

    /** Runs what is not there yet. Blocks, so it is called on a plain thread. */
    public void run(LoadFolder folder) {
        Set<String> missing = Set.copyOf(folder.missing());
        int number = 0;
        for (Leg leg : legs) {
            number++;
            if (missing.contains(leg.id())) {
                if (!between.goesOn(leg)) {
                    return;
                }
                watcher.begins(leg, number, legs.size());
                LoadLeg ended = run(leg);
                folder.add(ended);
                between.after(ended);
                watcher.ended(ended);
            }
        }
    }

    private LoadLeg run(Leg leg) {
        EngineUnderTest engine;
        try {
            engine = servers.of(leg);
        } catch (NoServerException e) {
            return notRun(leg, Objects.requireNonNullElse(e.getMessage(), "its server did not start"));
        }
        Map<String, String> notes = between.before(leg, engine);
        return cold.run(engine, clock, servers.life(leg), leg).withNotes(notes);
    }

    private LoadLeg notRun(Leg leg, String why) {
        return new LoadLeg(
                leg.id(),
                leg.load().recipe().name(),
                leg.load().id(),
                "",
                leg.settings(),
                clock.now().toString(),
                List.of(),
                Map.of(),
                Optional.empty(),
                Optional.of(why));
    }
}
