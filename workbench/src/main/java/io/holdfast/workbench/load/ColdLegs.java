package io.holdfast.workbench.load;

import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.Listening;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Salt;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * The rule by which no leg finds what earlier legs and earlier runs left in the server's cache: it is emptied before
 * the leg, or the leg's texts begin with a salt that no other leg of the same load has in that life of the server.
 *
 * <p>The salt counts how often a life has had the load. So arms that have lives of their own send the very same.
 */
public final class ColdLegs {
    /** The name of the note that says by which way. */
    public static final String NOTE = "cache";

    private final Way way;
    private final Optional<Salt> salt;
    private final Map<String, Integer> sent = new HashMap<>();
    private Supplier<BesideLeg> beside = BesideLeg::nobody;

    private enum Way {
        EMPTIED,
        SALTED,
        AS_FOUND
    }

    private ColdLegs(Way way, Optional<Salt> salt) {
        this.way = way;
        this.salt = salt;
    }

    /** Empties the cache by the server's own route. */
    public static ColdLegs emptied() {
        return new ColdLegs(Way.EMPTIED, Optional.empty());
    }

    /**
     * Begins texts with a salt.
     *
     * @param nonce of this run alone
     */
    public static ColdLegs salted(long nonce) {
        return new ColdLegs(Way.SALTED, Optional.of(new Salt(nonce)));
    }

    /** Empties the cache of an SGLang where that works, and begins texts with a salt on any other server. */
    public static ColdLegs of(EngineUnderTest engine, LongSupplier nonce) {
        boolean empties = engine.facts().family() == EngineFacts.Family.SGLANG
                && engine.flush().isEmpty();
        return empties ? emptied() : salted(nonce.getAsLong());
    }

    /** Does nothing, where what legs find is somebody else's matter. */
    public static ColdLegs asFound() {
        return new ColdLegs(Way.AS_FOUND, Optional.empty());
    }

    /** Has a new observer watch each leg from its beginning. */
    public void beside(Supplier<BesideLeg> each) {
        beside = each;
    }

    /** Returns whether the server's cache is emptied before each leg. */
    public boolean empties() {
        return way == Way.EMPTIED;
    }

    /** Returns whether requests are sent as they were drawn, so that their heads are known before they are sent. */
    public boolean sendsAsDrawn() {
        return way != Way.SALTED;
    }

    /** Says to people what is done, before the first leg. */
    public String text() {
        return switch (way) {
            case EMPTIED -> "The server's cache is emptied before each leg.";
            case SALTED ->
                "Nobody empties the server's cache, so the texts of each leg begin with " + Salt.tokens()
                        + " tokens that no other leg's have; messages stay as they are.";
            case AS_FOUND -> "Legs find the server's cache as it is.";
        };
    }

    /**
     * Runs a leg.
     *
     * @param life of the server, as its legs tell it from others
     */
    public LoadLeg run(EngineUnderTest engine, RunClock clock, String life, Suite.Leg leg) {
        List<LoadRequest> requests = leg.load().requests();
        List<LoadRequest> asSent =
                salt.map(its -> its.on(requests, again(life, leg.load()))).orElse(requests);
        LoadLeg ended;
        Optional<Listening> listening = engine.listen();
        BesideLeg looking = beside.get();
        Map<String, String> notes = new LinkedHashMap<>();
        try {
            ended = new LoadRun(engine, clock, Optional.of(asSent), empties(), listening)
                    .run(leg.id(), leg.load(), leg.settings());
        } finally {
            listening.ifPresent(Listening::close);
            notes.putAll(looking.ended());
        }
        if (way != Way.AS_FOUND) {
            notes.put(NOTE, way.name().toLowerCase(Locale.ROOT));
        }
        WarmCache.of(leg.load().parts(), asSent, ended).ifPresent(said -> notes.put(LoadLeg.WARM, said));
        Lengths.unlike(asSent, ended.measured()).ifPresent(said -> notes.put(LoadLeg.LENGTHS, said));
        return ended.withNotes(notes);
    }

    private int again(String life, DrawnLoad load) {
        return sent.merge(life + " " + load.id(), 1, Integer::sum);
    }
}
