package io.holdfast.workbench.preset;

import io.holdfast.loadtest.FileTrouble;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.ColdLegs;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.LoadRun;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.Suite;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Runs a preset's legs: begins a life of the server where a leg has another one than the leg before, warms each life
 * up, and lets the server rest between legs. None of that is in a figure.
 */
public final class PresetRun {
    private static final int WARM_UP_LANES = 8;
    private static final int WARM_UP_TOKENS = 64;
    private static final int WARM_UP_ANSWER = 8;

    private final Preset preset;
    private final EngineUnderTest engine;
    private final Consumer<StartedServer.Variant> starts;
    private final RunClock clock;
    private final Suite.Watcher watcher;
    private final Pace pace;
    private final ColdLegs cold;
    private final List<Suite.Leg> legs;
    private Optional<Preset.Life> life = Optional.empty();
    private Optional<String> refusal = Optional.empty();
    private OptionalLong lastEnded = OptionalLong.empty();
    private int warmed;

    /**
     * Work and waiting between the legs.
     *
     * @param warmUps requests of each life of the server
     * @param cooldown from the end of a leg to the beginning of the next
     * @param most after which no more legs begin
     */
    public record Pace(int warmUps, Duration cooldown, Optional<Duration> most) {
        /** Takes over the pace of the preset. */
        public static Pace of(Preset preset) {
            return new Pace(preset.warmUps(), preset.cooldown(), Optional.empty());
        }
    }

    /** No more legs begin because of {@link Pace#most}. */
    public static final class TimeIsUp extends RuntimeException {
        private static final long serialVersionUID = 1;

        TimeIsUp(String message) {
            super(message);
        }
    }

    /**
     * Nothing is sent yet.
     *
     * @param starts told how the server is to be started before the engine begins another life
     * @param cold keeps legs from finding what others left in the cache
     */
    public PresetRun(
            Preset preset,
            EngineUnderTest engine,
            Consumer<StartedServer.Variant> starts,
            RunClock clock,
            Suite.Watcher watcher,
            Pace pace,
            ColdLegs cold) {
        this.preset = preset;
        this.engine = engine;
        this.starts = starts;
        this.clock = clock;
        this.watcher = watcher;
        this.pace = pace;
        this.cold = cold;
        this.legs = preset.legs(engine.facts());
    }

    public List<Suite.Leg> legs() {
        return legs;
    }

    /** Returns the plan with which its folder is begun. */
    public LoadFolder.Plan plan(Map<String, String> settings) {
        Map<String, String> all = new LinkedHashMap<>(preset.settings());
        all.putAll(settings);
        return Suite.plan(preset.name(), all, legs);
    }

    /** Runs what is not there yet. */
    public void run(LoadFolder folder) {
        long began = clock.nanos();
        Suite.Servers servers = new Suite.Servers() {
            @Override
            public EngineUnderTest of(Suite.Leg leg) {
                return server(leg);
            }

            @Override
            public String life(Suite.Leg leg) {
                return preset.life(leg).name();
            }
        };
        new Suite(legs, servers, (next, server) -> rested(began), cold, clock, new Suite.Watcher() {
                    @Override
                    public void begins(Suite.Leg leg, int number, int of) {
                        watcher.begins(leg, number, of);
                    }

                    @Override
                    public void ended(LoadLeg leg) {
                        lastEnded = OptionalLong.of(clock.nanos());
                        watcher.ended(leg);
                    }
                })
                .run(folder);
    }

    private EngineUnderTest server(Suite.Leg leg) {
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
        if (pace.warmUps() == 0) {
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
                        pace.warmUps(),
                        Recipe.Range.of(WARM_UP_TOKENS),
                        Recipe.Range.of(WARM_UP_ANSWER),
                        "closed:" + Math.min(WARM_UP_LANES, lanes))));
        LoadLeg done = new LoadRun(engine, clock).run("warm-up", DrawnLoad.of(recipe), Map.of());
        return (int) done.measured().stream().filter(request -> request.isOk()).count();
    }

    private Map<String, String> rested(long began) {
        pace.most().filter(most -> clock.nanos() - began > most.toNanos()).ifPresent(most -> {
            throw new TimeIsUp("The most that it may take, " + most.toSeconds() + " s, is over.");
        });
        Map<String, String> notes = new LinkedHashMap<>();
        lastEnded.ifPresent(ended -> {
            clock.sleepUntil(ended + pace.cooldown().toNanos());
            notes.put("cooldown_s", String.format(Locale.ROOT, "%.3f", (clock.nanos() - ended) / 1e9));
        });
        if (warmed > 0) {
            notes.put("warmup_requests", Integer.toString(warmed));
        }
        return notes;
    }

    /** Writes what a preset leaves into its folder. */
    public static void write(Path folder, Preset.Outcome outcome) {
        LoadFolder.writeFindings(
                folder,
                Stream.concat(outcome.lines().stream().filter(LoadFlags::isIn), outcome.problems().stream())
                        .toList());
        outcome.files().forEach((name, text) -> {
            try {
                Files.writeString(
                        folder.resolve(name),
                        text,
                        StandardCharsets.UTF_8,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.TRUNCATE_EXISTING);
            } catch (IOException e) {
                throw new LoadTestException(
                        "The file " + folder.resolve(name) + " cannot be written: " + FileTrouble.why(e) + ".", e);
            }
        });
    }
}
