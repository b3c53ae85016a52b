package io.holdfast.loadtest.load;

import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.load.DrawnLoad.Drawn;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.RunClock;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Sends one load to a server that answers already, part by part, on a plain thread. */
public final class LoadRun {
    private final EngineUnderTest engine;
    private final RunClock clock;

    public LoadRun(EngineUnderTest engine, RunClock clock) {
        this.engine = engine;
        this.clock = clock;
    }

    /**
     * Blocks until all of it is answered. A request that fails is a record and ends nothing; a flush that fails ends the leg.
     *
     * @param settings of the server and of the load, for the record
     */
    public LoadLeg run(String id, DrawnLoad drawn, Map<String, String> settings) {
        Load load = engine.prepare(drawn.requests());
        String startedAt = clock.now().toString();
        long origin = clock.nanos();
        List<LoadLeg.Part> parts = new ArrayList<>();
        Optional<String> problem = Optional.empty();
        int lanes = 0;
        for (Drawn part : drawn.parts()) {
            clock.sleep(part.part().pause().toNanos());
            if (part.part().flush()) {
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
                Map.of(),
                health,
                problem);
    }
}
