package io.holdfast.workbench.matrix;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.LongFunction;

/*
 * Two users
 * =========
 *
 * User A asks; user B asks either when A has been answered to the end, or a fixed time after A. Both modes send the
 * same two texts. Which is better for B cannot be read from times that begin when B asks, since B asks at another time:
 * all that is compared across modes begins when A asks.
 *
 * For a verdict pairs of legs are judged like those of any experiment here: one after the other first, together first,
 * and twice one after the other for what being second does, in an order that is drawn.
 */

/** Two users, one after the other and together, as a suite of legs. */
public final class Staggered {
    public static final Duration USUAL_DELAY = Duration.ofSeconds(2);

    static final String GROUP = "staggered";
    static final String MODE = "mode";
    static final String PAIR = "pair";
    /** Setting in which pairs with the same number differ. */
    static final String ACROSS = "across";

    static final String ORDER = "order";
    static final String USERS = "users";
    private static final long HASH = 0x9e3779b97f4a7c15L;

    /** Arrival of user B. */
    public enum Mode {
        /** B comes when A has been answered to the end. */
        SEQUENTIAL,
        /** B comes a fixed time after A. */
        BATCHED;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private final List<Integer> contexts;
    private final Duration delay;
    private final int answer;
    private final boolean flushes;
    private final long seed;

    /**
     * @param contexts tokens of prompts
     * @param delay after which B comes where they come together
     * @param answer tokens of each answer
     * @param flushes whether the server's cache can be emptied; if not each leg has texts of its own
     */
    public Staggered(List<Integer> contexts, Duration delay, int answer, boolean flushes, long seed) {
        if (delay.toMillis() < 1 || delay.compareTo(Duration.ofHours(1)) > 0) {
            throw new LoadTestException(
                    "User B comes " + delay.toMillis() + " ms after user A; write 1 ms to an hour, as 2s.");
        }
        this.contexts = List.copyOf(contexts);
        this.delay = delay;
        this.answer = answer;
        this.flushes = flushes;
        this.seed = seed;
    }

    /** Both modes so many times, in turn the one and the other first. */
    List<Suite.Leg> passes(int passes) {
        List<Suite.Leg> legs = new ArrayList<>();
        for (int context : contexts) {
            Numbering numbers = new Numbering(context);
            for (int pass = 0; pass < passes; pass++) {
                pair(pass % 2 == 0 ? PairOrder.BP : PairOrder.PB, pass + 1, numbers, legs);
            }
        }
        return legs;
    }

    /** Pairs that can be judged: so many rounds, each with one of every order. */
    public List<Suite.Leg> rounds(int rounds) {
        List<Suite.Leg> legs = new ArrayList<>();
        for (int context : contexts) {
            Numbering numbers = new Numbering(context);
            int pair = 0;
            for (PairOrder order : CrossoverPlan.draw(rounds, new SplittableRandom(seed + context))
                    .lives()) {
                pair(order, ++pair, numbers, legs);
            }
        }
        return legs;
    }

    private static void pair(PairOrder order, int number, Numbering numbers, List<Suite.Leg> legs) {
        Mode first = order == PairOrder.PB ? Mode.BATCHED : Mode.SEQUENTIAL;
        Mode second = order == PairOrder.BP ? Mode.BATCHED : Mode.SEQUENTIAL;
        legs.add(numbers.leg(first, order, number));
        legs.add(numbers.leg(second, order, number));
    }

    /** Passes of each mode at one length, each with a number. */
    private final class Numbering {
        private final int context;
        private final Map<Mode, Integer> passes = new EnumMap<>(Mode.class);
        private final Map<Mode, DrawnLoad> loads = new EnumMap<>(Mode.class);

        Numbering(int context) {
            this.context = context;
        }

        Suite.Leg leg(Mode mode, PairOrder order, int pair) {
            int pass = passes.merge(mode, 1, Integer::sum);
            Map<String, String> settings = new LinkedHashMap<>();
            settings.put(MODE, mode.word());
            settings.put(CacheMatrix.CONTEXT, Integer.toString(context));
            settings.put("pass", Integer.toString(pass));
            settings.put(PAIR, Integer.toString(pair));
            settings.put(ORDER, order.name());
            settings.put(ACROSS, Integer.toString(context));
            settings.put(CacheMatrix.ANSWER, Integer.toString(answer));
            String id = GROUP + "/" + mode.word() + "/" + context + "tok/pass" + pass;
            LongFunction<DrawnLoad> drawn = from -> DrawnLoad.of(recipe(mode, context, from));
            long own = seed + HASH * context;
            return new Suite.Leg(
                    id,
                    flushes
                            ? loads.computeIfAbsent(mode, any -> drawn.apply(own))
                            : drawn.apply(own + HASH * id.hashCode()),
                    settings);
        }
    }

    private Recipe recipe(Mode mode, int context, long from) {
        return RecipeFile.ofResource(
                        Staggered.class,
                        "two-users.yaml",
                        Map.of(
                                "seed",
                                from,
                                "context",
                                context,
                                "answer",
                                answer,
                                "flushes",
                                flushes,
                                "rate",
                                1e3 / delay.toMillis()))
                .get(
                        switch (mode) {
                            case SEQUENTIAL -> 0;
                            case BATCHED -> 1;
                        });
    }
}
