package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/*
 * What a leg sends
 * ================
 *
 *   cold   the requests, all at once
 *   hot    the same one after the other, not measured; then all at once
 *   warm   the same one after the other, not measured; then others of as many tokens as the GPU's cache holds; then
 *          all at once
 *
 * Where the cache can be emptied each leg begins with that, and all legs of a length ask for the same texts, in all
 * states and batch sizes: so their answers can be compared. Where it cannot, each leg has texts of its own.
 */

/** A matrix of cache states, ways of answering, lengths and batch sizes as a suite of legs. */
public final class CacheMatrix {
    static final String STREAMING = "streaming";
    static final String ANSWER = "answer";
    static final String STATE = "state";
    static final String PAGE = "page";
    static final String BATCH = "batch";
    static final String CONTEXT = "context";

    /** Factor of the GPU's capacity that is sent to push something off it. */
    private static final double ENOUGH = 1.1;

    private static final long DISPLACING_PROMPT = 4_096;
    private static final int SPARE = 16;
    private static final long HASH = 0x9e3779b97f4a7c15L;

    private final MatrixAxes axes;
    private final Setup setup;
    private final Map<Recipe, DrawnLoad> drawn = new HashMap<>();

    /**
     * Known facts about the server.
     *
     * @param flushes whether its cache can be emptied
     * @param page tokens of a block
     * @param gpuTokens that its cache on the GPU holds; absent where nobody knows
     * @param longest tokens of the longest prompt that it takes
     * @param seed draws all texts
     */
    public record Setup(boolean flushes, int page, Optional<Long> gpuTokens, Optional<Long> longest, long seed) {}

    public CacheMatrix(MatrixAxes axes, Setup setup) {
        this.axes = axes;
        this.setup = setup;
        if (axes.states().contains(CacheState.WARM) && setup.gpuTokens().isEmpty()) {
            throw new LoadTestException("The server does not say how many tokens its cache on the GPU holds, so nobody"
                    + " knows when a prompt is warm and no longer hot; write --gpu-cache-tokens N, or leave warm out by"
                    + " --states cold,hot.");
        }
    }

    /** All legs in the order in which they run: a batch size after the other, two users at the end. */
    public List<Suite.Leg> legs() {
        List<Suite.Leg> legs = new ArrayList<>();
        for (MatrixLeg leg : axes.legs()) {
            legs.add(new Suite.Leg(leg.id(), load(leg), settings(leg)));
        }
        legs.addAll(new Staggered(axes.staggered(), Staggered.USUAL_DELAY, axes.answer(), setup.flushes(), setup.seed())
                .passes(axes.passes()));
        return legs;
    }

    /** Asks for whole answers where a leg wants them. */
    public static Suite.Servers servers(EngineUnderTest engine) {
        return leg -> "false".equals(leg.settings().getOrDefault(STREAMING, "")) ? engine.withoutStreams() : engine;
    }

    private Map<String, String> settings(MatrixLeg leg) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put(BATCH, Integer.toString(leg.batch()));
        settings.put(STATE, leg.state().word());
        settings.put(STREAMING, Boolean.toString(leg.streaming()));
        settings.put(CONTEXT, Integer.toString(leg.context()));
        settings.put("pass", Integer.toString(leg.pass()));
        settings.put(ANSWER, Integer.toString(axes.answer()));
        settings.put(PAGE, Integer.toString(setup.page()));
        return settings;
    }

    private DrawnLoad load(MatrixLeg leg) {
        // By the length alone, so that one request at a time asks for the first text of two together.
        long seed = setup.seed() + HASH * leg.context();
        long displacing =
                Math.min(DISPLACING_PROMPT, Math.max(1, setup.longest().orElse(DISPLACING_PROMPT) - SPARE));
        Recipe recipe = RecipeFile.ofResource(
                        CacheMatrix.class,
                        "cache-matrix.yaml",
                        Map.of(
                                "seed",
                                setup.flushes() ? seed : seed + HASH * leg.id().hashCode(),
                                "batch",
                                leg.batch(),
                                "context",
                                leg.context(),
                                "answer",
                                axes.answer(),
                                "flushes",
                                setup.flushes(),
                                "displacing",
                                (int) Math.max(
                                        1, Math.ceil(ENOUGH * setup.gpuTokens().orElse(0L) / displacing)),
                                "displacing-tokens",
                                displacing))
                .get(
                        switch (leg.state()) {
                            case COLD -> 0;
                            case WARM -> 1;
                            case HOT -> 2;
                        });
        return setup.flushes() ? drawn.computeIfAbsent(recipe, DrawnLoad::of) : DrawnLoad.of(recipe);
    }
}
