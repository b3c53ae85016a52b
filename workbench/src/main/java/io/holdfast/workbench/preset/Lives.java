package io.holdfast.workbench.preset;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.LoadRun;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Suite;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Lives of the server that a preset's legs are sent to. A life begins where a leg has another one than the leg before,
 * and is warmed up by requests that are in no figure.
 */
public final class Lives implements Suite.Servers, Suite.Between {
    private static final int WARM_UP_LANES = 8;
    private static final int WARM_UP_TOKENS = 64;
    private static final int WARM_UP_ANSWER = 8;

    private final Preset preset;
    private final EngineUnderTest engine;
    private final Consumer<StartedServer.Variant> starts;
    private final RunClock clock;
    private final int warmUps;
    private Optional<Preset.Life> life = Optional.empty();
    private Optional<String> refusal = Optional.empty();
    private int warmed;

    /**
     * Nothing is sent yet.
     *
     * @param starts told how the server is to be started before the engine begins another life
     * @param warmUps requests of each life
     */
    public Lives(
            Preset preset,
            EngineUnderTest engine,
            Consumer<StartedServer.Variant> starts,
            RunClock clock,
            int warmUps) {
        this.preset = preset;
        this.engine = engine;
        this.starts = starts;
        this.clock = clock;
        this.warmUps = warmUps;
    }

    @Override
    public String life(Suite.Leg leg) {
        return preset.life(leg).name();
    }

    @Override
    public EngineUnderTest of(Suite.Leg leg) {
        Preset.Life wanted = preset.life(leg);
        if (!life.equals(Optional.of(wanted))) {
            starts.accept(wanted.variant());
            life = Optional.of(wanted);
            refusal = Optional.empty();
            warmed = 0;
            try {
                engine.beginLife();
                warmed = warmUp(leg);
            } catch (LoadTestException e) {
                if (!preset.needsToStart() || Thread.currentThread().isInterrupted()) {
                    throw e;
                }
                refusal = Optional.of("its server did not start: "
                        + String.valueOf(e.getMessage()).replaceFirst("\\.$", ""));
            }
        }
        refusal.ifPresent(why -> {
            throw new Suite.NoServerException(why);
        });
        return engine;
    }

    /** Never more of them at a time than the leg itself sends. */
    private int warmUp(Suite.Leg leg) {
        if (warmUps == 0) {
            return 0;
        }
        int lanes = leg.load().parts().stream()
                .mapToInt(DrawnLoad.Drawn::lanes)
                .max()
                .orElse(1);
        Recipe recipe = new Recipe(
                "warm-up",
                "",
                1,
                Map.of(),
                List.of(Recipe.Part.of(
                        "warm-up",
                        warmUps,
                        Recipe.Range.of(WARM_UP_TOKENS),
                        Recipe.Range.of(WARM_UP_ANSWER),
                        "closed:" + Math.min(WARM_UP_LANES, lanes))));
        LoadLeg done = new LoadRun(engine, clock).run("warm-up", DrawnLoad.of(recipe), Map.of());
        return (int) done.measured().stream().filter(request -> request.isOk()).count();
    }

    @Override
    public Map<String, String> before(Suite.Leg next, EngineUnderTest sentTo) {
        return warmed > 0 ? Map.of("warmup_requests", Integer.toString(warmed)) : Map.of();
    }
}
