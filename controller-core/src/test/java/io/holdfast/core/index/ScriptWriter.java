package io.holdfast.core.index;

import io.holdfast.core.index.NaiveForest.NaiveCache;
import io.holdfast.core.index.Script.Add;
import io.holdfast.core.index.Script.Batch;
import io.holdfast.core.index.Script.Block;
import io.holdfast.core.index.Script.Clear;
import io.holdfast.core.index.Script.Drop;
import io.holdfast.core.index.Script.Event;
import io.holdfast.core.index.Script.Form;
import io.holdfast.core.index.Script.Lost;
import io.holdfast.core.index.Script.Reload;
import io.holdfast.core.index.Script.Remove;
import io.holdfast.core.index.Script.Restart;
import io.holdfast.core.index.Script.Step;
import io.holdfast.core.index.Script.Store;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SplittableRandom;

/** Invents what engines do next, knowing what they hold, and how strange they are. */
final class ScriptWriter {
    /**
     * How many caches and blocks there are, how long one announcement may be, and how much goes wrong.
     *
     * @param tiered how many announcements may be of another tier than the GPU's
     */
    record Temper(
            int caches,
            int blocks,
            int longest,
            double tiered,
            double branching,
            double rooting,
            double nonsense,
            int upheavals) {}

    private static final Tier[] TIERS = Tier.values();
    private static final Gap.Cause[] CAUSES = Gap.Cause.values();

    private final Universe universe;
    private final Temper temper;
    private final SplittableRandom random;
    private final Map<Integer, NaiveCache> caches;
    private final int mainGroup;
    private final List<Integer> stored = new ArrayList<>();
    private int target;
    private int phase;
    private boolean shrinking;

    /** The caches are the forest's, which the writer plays its steps to. */
    ScriptWriter(Universe universe, Temper temper, SplittableRandom random, Map<Integer, NaiveCache> caches) {
        this.universe = universe;
        this.temper = temper;
        this.random = random;
        this.caches = caches;
        mainGroup = random.nextInt(5) == 0 ? 1 : 0;
    }

    /** The block that the last step was about. */
    int target() {
        return target;
    }

    Step next() {
        if (--phase <= 0) {
            phase = random.nextInt(20, 400);
            shrinking = random.nextInt(3) == 0;
        }
        target = random.nextInt(universe.size());
        int what = random.nextInt(10_000);
        int upheavals = temper.upheavals;
        int place = random.nextInt(temper.caches);
        if (caches.isEmpty() || (caches.size() < temper.caches && random.nextInt(8) == 0)) {
            return new Add(place, new CacheTraits(random.nextBoolean(), random.nextInt(4) != 0));
        }
        List<Integer> places = List.copyOf(caches.keySet());
        place = places.get(random.nextInt(places.size()));
        if (what < upheavals) {
            return new Drop(place);
        } else if (what < 2 * upheavals) {
            return new Restart(place, random.nextInt(3));
        } else if (what < 3 * upheavals) {
            return new Lost(place, CAUSES[random.nextInt(CAUSES.length)]);
        }
        if (what >= 10_000 - 3 * upheavals - 20) {
            return new Reload(place, random.nextBoolean());
        }
        List<Event> events = new ArrayList<>();
        for (int count = random.nextInt(6) == 0 ? random.nextInt(6) : 1; count > 0; count--) {
            if (random.nextInt(10_000) < 2 * upheavals) {
                events.add(new Clear());
            } else {
                addEvents(place, events);
            }
        }
        return new Batch(place, events);
    }

    private void addEvents(int place, List<Event> events) {
        target = !stored.isEmpty() && random.nextInt(4) != 0
                ? stored.get(random.nextInt(stored.size()))
                : random.nextInt(universe.size());
        if (random.nextInt(100) < (shrinking ? 75 : 30)) {
            events.add(remove(place));
            return;
        }
        if (random.nextInt(5) != 0) {
            target = random.nextInt(universe.size());
        }
        remember(target);
        Store store = store(place);
        events.add(store);
        if (random.nextInt(12) == 0) {
            // Moved to another tier, or gone again before anybody could see it.
            Tier other = tier();
            List<Long> moved = new ArrayList<>();
            for (Block block : store.blocks()
                    .subList(
                            random.nextInt(store.blocks().size()),
                            store.blocks().size())) {
                moved.add(block.hash());
            }
            if (other != store.tier()) {
                events.add(new Store(store.parent(), store.blocks(), other, store.group(), store.form()));
            }
            events.add(new Remove(moved, store.tier(), store.group()));
        }
    }

    private Store store(int place) {
        int[] path = universe.path(target);
        Tier tier = tier();
        int from = random.nextInt(path.length);
        if (random.nextInt(8) != 0) {
            // What engines do: the blocks that the cache lacks.
            NaiveCache cache = caches.get(place);
            for (from = 0; from < path.length - 1 && cache != null; from++) {
                if (!cache.holds(universe.hash(place, path[from]), tier)) {
                    break;
                }
            }
        }
        int most = Math.min(path.length - from, temper.longest);
        int length = random.nextInt(3) == 0 ? random.nextInt(1, most + 1) : most;
        int[] chain = Arrays.copyOfRange(path, from, from + length);
        if (random.nextDouble() < temper.nonsense) {
            return nonsense(place, chain, tier);
        }
        List<Block> blocks = new ArrayList<>();
        for (int block : chain) {
            blocks.add(universe.block(place, block));
        }
        OptionalLong parent = from == 0 ? OptionalLong.empty() : OptionalLong.of(universe.hash(place, path[from - 1]));
        return new Store(parent, blocks, tier, group(), form());
    }

    private Form form() {
        return universe.chained() && random.nextBoolean() ? Form.TOKENS : Form.NAMES;
    }

    /** Blocks where they do not belong: as roots, under each other, under strangers. */
    private Store nonsense(int place, int[] chain, Tier tier) {
        OptionalLong parent = OptionalLong.empty();
        OptionalLong name = OptionalLong.empty();
        int wrong = chain[random.nextInt(chain.length)];
        switch (random.nextInt(6)) {
            case 0 -> {}
            case 1 -> parent = OptionalLong.of(random.nextLong());
            case 2, 3 -> parent = OptionalLong.of(universe.hash(place, wrong));
            default -> {
                wrong = random.nextInt(universe.size());
                parent = OptionalLong.of(universe.hash(place, wrong));
            }
        }
        if (parent.isPresent()) {
            name = OptionalLong.of(universe.name(wrong));
        }
        List<Block> blocks = new ArrayList<>();
        for (int block : chain) {
            name = OptionalLong.of(universe.nameBelow(name, block));
            // Now and then by another block's hash.
            int hashed = random.nextInt(40) == 0 ? random.nextInt(universe.size()) : block;
            blocks.add(new Block(universe.hash(place, hashed), name.getAsLong(), block));
        }
        return new Store(parent, blocks, tier, group(), random.nextInt(8) == 0 ? Form.NOTHING : form());
    }

    private Remove remove(int place) {
        int[] path = universe.path(target);
        List<Long> gone = new ArrayList<>();
        switch (random.nextInt(8)) {
            case 0, 1, 2 -> addRange(gone, place, path, random.nextInt(path.length), path.length);
            case 3 -> addRange(gone, place, path, random.nextInt(path.length), 1 + random.nextInt(path.length));
            case 4 -> addRange(gone, place, path, 0, path.length);
            case 5 -> {
                int first = random.nextInt(universe.size());
                int last = Math.min(universe.size(), first + random.nextInt(1, 2 + temper.longest * 2));
                for (int block = first; block < last; block++) {
                    gone.add(universe.hash(place, block));
                }
            }
            case 6 -> {
                for (int count = random.nextInt(1, 5); count > 0; count--) {
                    gone.add(universe.hash(place, random.nextInt(universe.size())));
                }
                gone.add(random.nextBoolean() ? gone.get(0) : random.nextLong());
            }
            default -> gone.add(universe.hash(place, path[random.nextInt(path.length)]));
        }
        if (random.nextBoolean()) {
            Collections.reverse(gone);
        } else if (random.nextInt(4) == 0) {
            Collections.shuffle(gone, new Random(random.nextLong()));
        }
        return new Remove(gone, tier(), group());
    }

    private void addRange(List<Long> gone, int place, int[] path, int from, int to) {
        for (int i = from; i < to; i++) {
            gone.add(universe.hash(place, path[i]));
        }
    }

    private void remember(int block) {
        if (stored.size() < 64) {
            stored.add(block);
        } else {
            stored.set(random.nextInt(stored.size()), block);
        }
    }

    private Tier tier() {
        return random.nextDouble() < temper.tiered() ? TIERS[random.nextInt(TIERS.length)] : Tier.GPU;
    }

    private int group() {
        return random.nextInt(16) == 0 ? random.nextInt(3) : mainGroup;
    }
}
