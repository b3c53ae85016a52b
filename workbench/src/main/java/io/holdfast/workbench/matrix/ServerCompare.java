package io.holdfast.workbench.matrix;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.VariantFile.Cell;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.regex.Pattern;

/*
 * Servers against each other
 * ==========================
 *
 * A life is one process of one variant: it is started, gets every cell once, and ends. All variants get the same
 * requests in a cell, so their results have the same workload id.
 *
 * Without a verdict lives come in rounds that have each variant once, in an order drawn anew for each round. With one,
 * the reference and each other variant are judged by pairs of lives as everything is judged here: the reference first,
 * the other first, and twice the reference for what being second does. The lives of a pair have their cells in one
 * order.
 */

/** Servers that are started differently, by batch and length, as a suite of legs. */
public final class ServerCompare {
    static final String VARIANT = "variant";
    static final String LIFE = "life";
    static final String AGAINST = "against";
    static final String DECODE = "decode";
    private static final int MOST = 1_000;
    private static final int MOST_WARM_UP_ANSWER = 8;
    /** Names of variables whose values are written down nowhere. */
    private static final Pattern SECRET = Pattern.compile("TOKEN|KEY|SECRET|PASS|CREDENTIAL", Pattern.CASE_INSENSITIVE);

    private final VariantFile.Contents contents;
    private final long seed;
    private final Map<Cell, DrawnLoad> loads = new LinkedHashMap<>();

    public ServerCompare(VariantFile.Contents contents, long seed) {
        this.contents = contents;
        this.seed = seed;
        contents.cells().forEach(cell -> loads.put(cell, DrawnLoad.of(recipe(cell))));
    }

    /** Returns true if the value of a variable of this name is likely to be secret. */
    public static boolean isSecret(String variable) {
        return SECRET.matcher(variable).find();
    }

    private Recipe recipe(Cell cell) {
        return RecipeFile.ofResource(
                        ServerCompare.class,
                        "server-compare.yaml",
                        Map.of(
                                "cell",
                                cell.id(),
                                "why",
                                cell.decode()
                                        ? "time between tokens at a fixed batch"
                                        : "prompts of one length at a fixed batch",
                                "seed",
                                seed + 31L * cell.batch() + 1_009L * cell.length() + (cell.decode() ? 1 : 0),
                                "batch",
                                cell.batch(),
                                "requests",
                                cell.batch() * cell.waves(),
                                "length",
                                cell.length(),
                                "answer",
                                cell.answer(),
                                "warm-up-answer",
                                Math.min(MOST_WARM_UP_ANSWER, cell.answer())))
                .getFirst();
    }

    /** Every variant so often, without a verdict. */
    public List<Suite.Leg> rounds(int repeat) {
        check("--repeat", repeat);
        Lives lives = new Lives();
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 1; round <= repeat; round++) {
            List<ServerVariant> order = new ArrayList<>(contents.variants());
            Collections.shuffle(order, new Random(random.nextLong()));
            List<Cell> cells = shuffled(random);
            order.forEach(variant -> lives.add(variant, cells, Map.of()));
        }
        return lives.legs;
    }

    /** The reference against each other variant in so many rounds of a pair of every order. */
    public List<Suite.Leg> pairs(int rounds) {
        check("--rounds", rounds);
        Lives lives = new Lives();
        SplittableRandom random = new SplittableRandom(seed);
        int pair = 0;
        for (ServerVariant other : others()) {
            for (PairOrder order : CrossoverPlan.draw(rounds, random).lives()) {
                pair++;
                Map<String, String> settings = Map.of(
                        Staggered.PAIR,
                        Integer.toString(pair),
                        Staggered.ORDER,
                        order.name(),
                        Staggered.ACROSS,
                        "",
                        AGAINST,
                        other.name());
                List<Cell> cells = shuffled(random);
                lives.add(order == PairOrder.PB ? other : reference(), cells, settings);
                lives.add(order == PairOrder.BP ? other : reference(), cells, settings);
            }
        }
        return lives.legs;
    }

    private static void check(String option, int value) {
        if (value < 1 || value > MOST) {
            throw new LoadTestException(option + " is " + value + "; write 1 to " + MOST + ".");
        }
    }

    private List<Cell> shuffled(SplittableRandom random) {
        List<Cell> cells = new ArrayList<>(contents.cells());
        Collections.shuffle(cells, new Random(random.nextLong()));
        return cells;
    }

    private ServerVariant reference() {
        return contents.variants().stream()
                .filter(each -> each.name().equals(contents.reference()))
                .findFirst()
                .orElseThrow();
    }

    private List<ServerVariant> others() {
        return contents.variants().stream()
                .filter(each -> !each.name().equals(contents.reference()))
                .toList();
    }

    /** Lives one after the other. */
    private final class Lives {
        private final List<Suite.Leg> legs = new ArrayList<>();
        private final Map<String, Integer> passes = new LinkedHashMap<>();
        private int count;

        void add(ServerVariant variant, List<Cell> cells, Map<String, String> more) {
            int pass = passes.merge(variant.name(), 1, Integer::sum);
            count++;
            for (Cell cell : cells) {
                Map<String, String> settings = new LinkedHashMap<>();
                settings.put(VARIANT, variant.name());
                settings.put(CacheMatrix.BATCH, Integer.toString(cell.batch()));
                settings.put("length", Integer.toString(cell.length()));
                settings.put(CacheMatrix.ANSWER, Integer.toString(cell.answer()));
                settings.put(DECODE, Boolean.toString(cell.decode()));
                settings.put("pass", Integer.toString(pass));
                settings.put(LIFE, Integer.toString(count));
                variant.settings().forEach(settings::putIfAbsent);
                variant.environment()
                        .forEach((name, value) -> settings.put("env." + name, isSecret(name) ? "set" : value));
                variant.unset().forEach(name -> settings.put("env." + name, "unset"));
                settings.putAll(more);
                DrawnLoad load = Optional.ofNullable(loads.get(cell)).orElseThrow();
                legs.add(new Suite.Leg(variant.name() + "/" + cell.id() + "/pass" + pass, load, settings));
            }
        }
    }
}
