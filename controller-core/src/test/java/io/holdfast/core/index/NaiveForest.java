package io.holdfast.core.index;

import io.holdfast.core.hash.ContentNames;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** The rules of {@link BlockTree} over hash maps, with full walks and no thought of speed. */
final class NaiveForest {
    /*
     * Nodes
     * -----
     * A node is a name: the engine's hash, or the name on the content chain. It lives while some cache holds it in its main
     * group in any tier, or while one of its children lives, and whoever died goes at the end of the batch. A living node
     * keeps the first place that it was given, a root or under a parent, whoever gave it; what later announcements say about
     * its place is not believed, though the block counts as held. A node whose place is not known, because only its children
     * or a circle spoke of it, takes the first place that it is offered; a place below itself is none.
     *
     * An engine-named tree makes a node for an unknown parent, so that its children are linked when it comes. A content-named
     * tree cannot, since nobody knows that parent's name.
     *
     * Unplaced blocks
     * ---------------
     * In a content-named tree a block goes below its predecessor in the announcement, or the parent that it names, if the
     * cache holds that one and it has a name; a root always has its place. Otherwise it is unplaced: held under its engine's
     * hash, with no node. Each block of an announcement is judged by itself, by what is known of the one before it. A hash
     * has one name for as long as the cache holds it: announced again it is one copy more of the block that it was. A name
     * has one hash of a cache at a time: another one that claims it is unplaced, since its removal says nothing of the
     * first. An unplaced hash that is announced again with its way known is placed then, since from then on events do say
     * where it is; blocks below it that were announced before stay unplaced until they are announced again as well.
     *
     * Groups
     * ------
     * The group of the first chain that is not windowed is the cache's main group for good. Other groups count copies and
     * that is all: they make no node and keep none alive.
     *
     * What is counted
     * ---------------
     * A removal of what is not there is unknown, in every group. Unknown removals are counted over the whole life of a cache.
     *
     * What is kept
     * ------------
     * A kept name lives though nobody holds it, and stays held when events are lost.
     *
     * Certainty
     * ---------
     * A cache is certain once a batch came that no gap preceded, until a gap; and again after a restart at 0 or a clear that
     * empties every tier that its engine was ever seen to use.
     *
     * What is left open
     * -----------------
     * A tree may remember the place of a dead block for as long as something above it lives, and so believe or disbelieve an
     * engine that gives it another place: no engine does, since its hash covers all that precedes. For the same reason a name
     * of the content chain that appears in two places is nobody's. Announcements that depend on either are open.
     */

    private static final class Node {
        boolean placed;
        Optional<Long> parent = Optional.empty();
        final Set<Long> children = new HashSet<>();
        /** By cache, the engine's hashes that stand for this block. */
        final Map<NaiveCache, Set<Long>> holders = new HashMap<>();
    }

    private static final class Held {
        Optional<Long> name = Optional.empty();
        final Map<Tier, Integer> copies = new EnumMap<>(Tier.class);
    }

    /** One cache of the forest. */
    static final class NaiveCache {
        private final CacheTraits traits;
        private final Map<Long, Held> main = new HashMap<>();
        private final Set<Long> unplaced = new HashSet<>();
        private final Map<Integer, Map<Long, Held>> others = new HashMap<>();
        private Optional<Integer> mainGroup = Optional.empty();
        private long unknownRemovals;
        private boolean followed;
        private boolean certain;
        private final Set<Tier> used = EnumSet.noneOf(Tier.class);

        private NaiveCache(CacheTraits traits) {
            this.traits = traits;
        }

        boolean decides(StoredBlocks chain) {
            return mainGroup.map(group -> group == chain.group()).orElse(!chain.windowed());
        }

        int blocks() {
            return main.size();
        }

        long unplaced() {
            return unplaced.size();
        }

        long unknownRemovals() {
            return unknownRemovals;
        }

        boolean certain() {
            return certain;
        }

        boolean holds(long hash, Tier tier) {
            Held held = main.get(hash);
            return held != null && held.copies.containsKey(tier);
        }

        boolean holds(long hash, Tier tier, int group) {
            if (mainGroup.equals(Optional.of(group))) {
                return holds(hash, tier);
            }
            Held held = others.getOrDefault(group, Map.of()).get(hash);
            return held != null && held.copies.containsKey(tier);
        }

        /** By hash, the tiers that hold it in the main group, as bits. */
        Map<Long, Integer> tiers() {
            Map<Long, Integer> tiers = new TreeMap<>();
            main.forEach((hash, held) -> tiers.put(
                    hash,
                    held.copies.keySet().stream().mapToInt(tier -> tier.bit).sum()));
            return tiers;
        }
    }

    private final BlockTree.Naming naming;
    private final Map<Long, Node> nodes = new HashMap<>();
    private final Set<Long> mayBeDead = new LinkedHashSet<>();
    /** The parent that each name had last, also after its death. */
    private final Map<Long, Optional<Long>> places = new HashMap<>();

    private final Set<Long> kept = new HashSet<>();

    NaiveForest(BlockTree.Naming naming) {
        this.naming = naming;
    }

    NaiveCache addCache(CacheTraits traits) {
        return new NaiveCache(traits);
    }

    void dropCache(NaiveCache cache) {
        forget(cache, Set.of());
        bury();
    }

    void batchStarted(NaiveCache cache) {
        cache.certain |= !cache.followed;
        cache.followed = true;
    }

    void batchEnded() {
        bury();
    }

    void stored(NaiveCache cache, StoredBlocks chain) {
        if (chain.count() == 0) {
            return;
        }
        if (cache.mainGroup.isEmpty() && !chain.windowed()) {
            cache.mainGroup = Optional.of(chain.group());
        }
        if (!cache.mainGroup.equals(Optional.of(chain.group()))) {
            Map<Long, Held> group = cache.others.computeIfAbsent(chain.group(), g -> new HashMap<>());
            for (int i = 0; i < chain.count(); i++) {
                addCopy(cache, group.computeIfAbsent(chain.hash(i), hash -> new Held()), chain.tier());
            }
            return;
        }
        cache.used.add(chain.tier());
        if (!chain.rooted() && naming == BlockTree.Naming.ENGINE_HASH) {
            nodes.computeIfAbsent(chain.parent(), hash -> new Node());
            mayBeDead.add(chain.parent());
        }
        Optional<Long> above = chain.rooted() ? Optional.empty() : name(cache, chain.parent());
        boolean wayKnown = chain.rooted() || above.isPresent();
        for (int i = 0; i < chain.count(); i++) {
            long hash = chain.hash(i);
            Held held = cache.main.computeIfAbsent(hash, h -> new Held());
            addCopy(cache, held, chain.tier());
            if (held.name.isEmpty() && wayKnown) {
                held.name = newName(chain, i, above).filter(name -> !holdsByAnotherHash(cache, name));
                held.name.ifPresent(name -> nodes.computeIfAbsent(name, n -> new Node())
                        .holders
                        .computeIfAbsent(cache, c -> new HashSet<>())
                        .add(hash));
            }
            wayKnown &= held.name.isPresent();
            if (wayKnown) {
                place(held.name.orElseThrow(), above);
                cache.unplaced.remove(hash);
            } else if (held.name.isEmpty()) {
                cache.unplaced.add(hash);
            }
            above = held.name;
            wayKnown = above.isPresent();
        }
    }

    void removed(NaiveCache cache, long hash, Tier tier, int group) {
        boolean inMain = cache.mainGroup.equals(Optional.of(group));
        Map<Long, Held> blocks = inMain ? cache.main : cache.others.getOrDefault(group, Map.of());
        Held held = blocks.get(hash);
        if (held == null || !held.copies.containsKey(tier)) {
            cache.unknownRemovals++;
            return;
        }
        held.copies.merge(tier, -1, Integer::sum);
        if (held.copies.remove(tier, 0) && held.copies.isEmpty()) {
            blocks.remove(hash);
            if (inMain) {
                leave(cache, hash, held);
            }
        }
    }

    void keep(Set<Long> names) {
        mayBeDead.addAll(kept);
        kept.clear();
        kept.addAll(names);
    }

    void cleared(NaiveCache cache) {
        if (cache.traits.clearEmptiesGpuOnly()) {
            empty(cache, Tier.GPU, Set.of());
        } else {
            forget(cache, Set.of());
        }
        if (!cache.traits.clearEmptiesGpuOnly() || Set.of(Tier.GPU).containsAll(cache.used)) {
            cache.certain = true;
            cache.followed = true;
        }
    }

    void gap(NaiveCache cache, Gap gap) {
        if (gap.cause() != Gap.Cause.JOINED_LATE) {
            forget(cache, kept);
            bury();
        }
        cache.followed = true;
        cache.certain = false;
    }

    void restarted(NaiveCache cache, long seen) {
        forget(cache, Set.of());
        bury();
        cache.followed = true;
        cache.certain = seen == 0;
    }

    /** Leading blocks of the path that the cache holds in each tier or a nearer one, by {@link #index}. */
    int[] match(NaiveCache cache, long[] path, int from, int blocks) {
        int[] depths = new int[Tier.values().length];
        int nearest = 0;
        for (int i = 0; i < blocks && nearest < depths.length; i++) {
            Node node = nodes.get(path[from + i]);
            Optional<Long> above = i == 0 ? Optional.empty() : Optional.of(path[from + i - 1]);
            if (node == null || !node.placed || !node.parent.equals(above)) {
                break;
            }
            nearest = Math.max(nearest, nearestTier(cache, node));
            for (int tier = nearest; tier < depths.length; tier++) {
                depths[tier] = i + 1;
            }
        }
        return depths;
    }

    /** The tier's place in an array, the nearest first. */
    static int index(Tier tier) {
        return Integer.numberOfTrailingZeros(tier.bit);
    }

    /** How many nodes live. */
    int blocks() {
        return nodes.size();
    }

    List<Long> names() {
        return new ArrayList<>(nodes.keySet());
    }

    /** The names from the topmost known block down to this one. */
    List<Long> path(long name) {
        List<Long> path = new ArrayList<>();
        for (Optional<Long> at = Optional.of(name); at.isPresent(); at = parentOf(at.get())) {
            path.add(at.get());
        }
        Collections.reverse(path);
        return path;
    }

    boolean lives(long name) {
        return nodes.containsKey(name);
    }

    /** Blocks from a root to this one; 0 where the way to a root is not known. */
    int depth(long name) {
        List<Long> path = path(name);
        return nodes.containsKey(name) && node(path.getFirst()).placed ? path.size() : 0;
    }

    private Optional<Long> parentOf(long name) {
        Node node = nodes.get(name);
        return node == null ? Optional.empty() : node.parent;
    }

    /** Whether what the announcement does depends on what is left open. */
    boolean open(NaiveCache cache, StoredBlocks chain) {
        boolean byEngine = naming == BlockTree.Naming.ENGINE_HASH;
        boolean rooted = chain.rooted();
        if (byEngine && !rooted && !nodes.containsKey(chain.parent()) && remembered(chain.parent())) {
            return true;
        }
        Optional<Long> above = rooted ? Optional.empty() : name(cache, chain.parent());
        boolean wayKnown = rooted || above.isPresent();
        Map<Long, Optional<Long>> offered = new HashMap<>();
        for (int i = 0; i < chain.count(); i++) {
            Optional<Long> name = byEngine ? Optional.of(chain.hash(i)) : name(cache, chain.hash(i));
            if (name.isEmpty() && wayKnown) {
                name = newName(chain, i, above);
                if (name.isPresent() && hasAnotherPlace(name.get(), above, offered)) {
                    return true;
                }
            } else if (byEngine && hasAnotherPlace(chain.hash(i), above, offered)) {
                return true;
            }
            above = name;
            wayKnown = name.isPresent();
        }
        return false;
    }

    private boolean hasAnotherPlace(long name, Optional<Long> above, Map<Long, Optional<Long>> offered) {
        if (naming == BlockTree.Naming.CONTENT_CHAIN) {
            Optional<Long> sooner = offered.putIfAbsent(name, above);
            return !places.getOrDefault(name, above).equals(above) || (sooner != null && !sooner.equals(above));
        }
        Node node = nodes.get(name);
        boolean placed = node != null && (node.placed || node.parent.isPresent());
        return !placed && !places.getOrDefault(name, above).equals(above) && remembered(name);
    }

    private boolean remembered(long name) {
        Set<Long> seen = new HashSet<>();
        Optional<Long> at = places.getOrDefault(name, Optional.empty());
        while (at.isPresent() && seen.add(at.get())) {
            if (nodes.containsKey(at.get())) {
                return true;
            }
            at = places.getOrDefault(at.get(), Optional.empty());
        }
        return false;
    }

    private Optional<Long> name(NaiveCache cache, long hash) {
        if (naming == BlockTree.Naming.ENGINE_HASH) {
            return Optional.of(hash);
        }
        Held held = cache.main.get(hash);
        return held == null ? Optional.empty() : held.name;
    }

    private Optional<Long> newName(StoredBlocks chain, int index, Optional<Long> above) {
        if (naming == BlockTree.Naming.ENGINE_HASH) {
            return Optional.of(chain.hash(index));
        }
        if (chain.named()) {
            return Optional.of(chain.name(index));
        }
        int size = chain.blockTokens();
        if (size == 0 || chain.tokenCount() != chain.count() * size) {
            return Optional.empty();
        }
        int[] tokens = new int[size];
        for (int i = 0; i < size; i++) {
            tokens[i] = chain.token(index * size + i);
        }
        long local = ContentNames.local(tokens, 0, size);
        long withExtra = chain.extra(index) == 0 ? local : ContentNames.with(local, chain.extra(index));
        return Optional.of(above.map(name -> ContentNames.next(name, withExtra))
                .orElseGet(() -> ContentNames.root(withExtra, chain.namespace())));
    }

    private boolean holdsByAnotherHash(NaiveCache cache, long name) {
        Node node = nodes.get(name);
        return node != null && node.holders.containsKey(cache);
    }

    private int nearestTier(NaiveCache cache, Node node) {
        int nearest = Tier.values().length;
        for (long hash : node.holders.getOrDefault(cache, Set.of())) {
            for (Tier tier : held(cache, hash).copies.keySet()) {
                nearest = Math.min(nearest, index(tier));
            }
        }
        return nearest;
    }

    private static Held held(NaiveCache cache, long hash) {
        return Optional.ofNullable(cache.main.get(hash)).orElseThrow();
    }

    private static void addCopy(NaiveCache cache, Held held, Tier tier) {
        held.copies.merge(tier, 1, (known, one) -> cache.traits.countsCopies() ? known + one : known);
    }

    private void place(long name, Optional<Long> above) {
        Node node = node(name);
        if (node.placed || node.parent.isPresent()) {
            return;
        }
        if (above.isEmpty()) {
            node.placed = true;
            places.put(name, above);
        } else if (!isBelow(above.get(), name)) {
            node.placed = true;
            node.parent = above;
            places.put(name, above);
            node(above.get()).children.add(name);
        }
    }

    private boolean isBelow(long name, long other) {
        // Only what has children can have somebody below it: spares a walk per block.
        return name == other || (!node(other).children.isEmpty() && path(name).contains(other));
    }

    private Node node(long name) {
        return Optional.ofNullable(nodes.get(name)).orElseThrow();
    }

    private void empty(NaiveCache cache, Tier tier, Set<Long> spared) {
        for (Map<Long, Held> group : cache.others.values()) {
            group.values().forEach(held -> held.copies.remove(tier));
            group.values().removeIf(held -> held.copies.isEmpty());
        }
        for (Map.Entry<Long, Held> entry : List.copyOf(cache.main.entrySet())) {
            Held held = entry.getValue();
            if (spared.contains(entry.getKey())) {
                continue;
            }
            held.copies.remove(tier);
            if (held.copies.isEmpty()) {
                cache.main.remove(entry.getKey());
                leave(cache, entry.getKey(), held);
            }
        }
    }

    private void forget(NaiveCache cache, Set<Long> spared) {
        for (Tier tier : Tier.values()) {
            empty(cache, tier, spared);
        }
    }

    private void leave(NaiveCache cache, long hash, Held held) {
        cache.unplaced.remove(hash);
        held.name.ifPresent(name -> {
            Set<Long> hashes = node(name).holders.getOrDefault(cache, Set.of());
            hashes.remove(hash);
            if (hashes.isEmpty()) {
                node(name).holders.remove(cache);
            }
            mayBeDead.add(name);
        });
    }

    private void bury() {
        for (long name : List.copyOf(mayBeDead)) {
            buryIfDead(name);
        }
        mayBeDead.clear();
    }

    private void buryIfDead(long last) {
        for (Optional<Long> at = Optional.of(last); at.isPresent(); ) {
            long name = at.get();
            Node node = nodes.get(name);
            if (node == null || !node.holders.isEmpty() || !node.children.isEmpty() || kept.contains(name)) {
                return;
            }
            nodes.remove(name);
            node.parent.ifPresent(parent -> node(parent).children.remove(name));
            at = node.parent;
        }
    }
}
