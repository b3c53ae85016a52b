package io.holdfast.loadtest.run;

import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;

/**
 * An engine whose client is told something else than what the engine did.
 *
 * @param change of all answers to what was sent at once
 */
public record ChangedAnswers(EngineUnderTest engine, UnaryOperator<List<RequestRecord>> change)
        implements EngineUnderTest {
    /** One whose client sees an answer when all of it is there. */
    static ChangedAnswers whole(EngineUnderTest engine) {
        return new ChangedAnswers(
                engine, sent -> sent.stream().map(ChangedAnswers::whole).toList());
    }

    @Override
    public String name() {
        return engine.name();
    }

    @Override
    public Map<String, String> client() {
        return engine.client();
    }

    @Override
    public boolean givesFreshLives() {
        return engine.givesFreshLives();
    }

    @Override
    public void beginLife() {
        engine.beginLife();
    }

    @Override
    public EngineFacts facts() {
        return engine.facts();
    }

    @Override
    public Optional<String> flush() {
        return engine.flush();
    }

    @Override
    public HoldRoutes holdRoutes() {
        return engine.holdRoutes();
    }

    @Override
    public EngineUnderTest withoutStreams() {
        return new ChangedAnswers(engine.withoutStreams(), change);
    }

    @Override
    public void close() {
        engine.close();
    }

    @Override
    public Load prepare(List<LoadRequest> requests) {
        Load load = engine.prepare(requests);
        return new Load() {
            @Override
            public String digest() {
                return load.digest();
            }

            @Override
            public void connect(int lanes) {
                load.connect(lanes);
            }

            @Override
            public Sent send(int count, int concurrency, Optional<Beside> beside) {
                return changed(load.send(count, concurrency, beside));
            }

            @Override
            public Sent sendInTurn(List<Long> turns, int most, Optional<Beside> beside) {
                return changed(load.sendInTurn(turns, most, beside));
            }

            @Override
            public Optional<ClientHealth> health() {
                return load.health();
            }
        };
    }

    private Sent changed(Sent sent) {
        return new Sent(change.apply(sent.load()), sent.beside());
    }

    private static RequestRecord whole(RequestRecord record) {
        RequestRecord same = new RequestRecord(
                record.number(),
                record.role(),
                record.cycle(),
                record.status(),
                record.scheduled(),
                record.sent(),
                record.lastToken(),
                OptionalLong.empty(),
                record.lastToken(),
                record.done(),
                record.promptTokens(),
                record.completionTokens(),
                record.cachedTokens(),
                record.problem());
        return record.output().map(same::withOutput).orElse(same);
    }
}
