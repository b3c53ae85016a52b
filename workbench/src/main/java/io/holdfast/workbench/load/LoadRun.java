package io.holdfast.workbench.load;

import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.Listening;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.workbench.load.DrawnLoad.Drawn;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Sends one load to a server that answers already, part by part, on a plain thread. */
public final class LoadRun {
    private static final Duration EVENTS_LAG = Duration.ofSeconds(5);

    private final EngineUnderTest engine;
    private final RunClock clock;
    private final Optional<List<LoadRequest>> sent;
    private final boolean flushes;
    private final Optional<Listening> listening;

    public LoadRun(EngineUnderTest engine, RunClock clock) {
        this(engine, clock, Optional.empty(), false, Optional.empty());
    }

    /**
     * @param sent in place of the load's requests, one for each
     * @param flushes whether the server's cache is emptied before the first part
     * @param listening tells, of each part, what the engine says of its cache
     */
    LoadRun(
            EngineUnderTest engine,
            RunClock clock,
            Optional<List<LoadRequest>> sent,
            boolean flushes,
            Optional<Listening> listening) {
        this.engine = engine;
        this.clock = clock;
        this.sent = sent;
        this.flushes = flushes;
        this.listening = listening;
    }

    /** Returns what was told so far, once all of it has arrived. */
    private CacheEvents counted() {
        listening.ifPresent(events -> events.awaitQuiet(EVENTS_LAG));
        return listening.map(Listening::counted).orElse(CacheEvents.NONE);
    }

    /**
     * Blocks until all of it is answered. A request that fails is a record and ends nothing; a flush that fails ends
     * the leg.
     *
     * @param settings of the server and of the load, for the record
     */
    public LoadLeg run(String id, DrawnLoad drawn, Map<String, String> settings) {
        Load load = engine.prepare(sent.orElseGet(drawn::requests));
        String startedAt = clock.now().toString();
        long origin = clock.nanos();
        List<LoadLeg.Part> parts = new ArrayList<>();
        Optional<String> problem = Optional.empty();
        int lanes = 0;
        boolean first = true;
        Map<String, String> notes = new LinkedHashMap<>();
        CacheEvents before = counted();
        for (Drawn part : drawn.parts()) {
            boolean empties = part.part().flush() || (first && flushes);
            first = false;
            clock.sleep(part.part().pause().toNanos());
            if (empties) {
                problem = engine.flush();
                if (problem.isPresent()) {
                    break;
                }
            }
            if (part.lanes() != lanes) {
                lanes = part.lanes();
                load.connect(lanes);
            }
            long began = clock.nanos();
            List<RequestRecord> records = part.turns().isEmpty()
                    ? load.send(part.requests().size(), lanes)
                    : load.sendInTurn(part.turns(), lanes, Optional.empty()).load();
            parts.add(new LoadLeg.Part(
                    part.part().name(),
                    part.part().measured(),
                    began - origin,
                    clock.nanos() - origin,
                    records.stream().map(record -> record.since(origin)).toList()));
            if (listening.isPresent()) {
                CacheEvents now = counted();
                notes.putAll(now.since(before).notes("." + part.part().name()));
                before = now;
            }
        }
        if (listening.isPresent()) {
            notes.putAll(before.notes(""));
            listening.get().problem().ifPresent(why -> notes.put(CacheEvents.DOUBT, why));
        }
        Optional<ClientHealth> health = load.health();
        return new LoadLeg(
                id,
                drawn.recipe().name(),
                drawn.id(),
                load.digest(),
                settings,
                startedAt,
                parts,
                notes,
                health,
                problem);
    }
}
