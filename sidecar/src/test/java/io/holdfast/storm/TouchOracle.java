package io.holdfast.storm;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;

/*
 * Knows what requests of sidecars protect, as only the engines can, and says what is wrong.
 *
 * Sessions. An open session whose id a sidecar has sent is that sidecar's. It is used once, closed by whom it belongs to, and
 * none refers to anything in the end.
 *
 * Priorities. A block is protected for a sidecar from the moment at which its request was served until the block is removed.
 * The engine's own word for it is the priority, which somebody else's request may have given it as well. Of two copies of a
 * block, a sidecar that joined late, or lost events, may have been told of one: when that one goes it takes the block for gone,
 * and nobody could tell it otherwise.
 *
 * Leases. They are sessions that the engine closes itself, in time. None is left in the end, and while one of this life of a
 * sidecar is there, the sidecar counts it.
 *
 * Touches. Whatever is sent, for whichever backend, is sent for a hold that is wanted, while nobody has said stop; and not for
 * a prefix that is gone and known to be.
 */
final class TouchOracle {
    private static final long TOLD_WITHIN = 3 * Timeline.SECOND;

    private record Key(String who, VirtualEngine engine) {}

    private final Timeline time;
    private final BiConsumer<String, String> failure;
    private final Consumer<Supplier<String>> trace;
    private final Map<Key, Set<Long>> touched = new HashMap<>();
    private final Map<VirtualEngine, Map<Long, Long>> removed = new HashMap<>();
    private final Map<VirtualEngine, Long> cleared = new HashMap<>();
    private final Map<String, String> owners = new HashMap<>();
    private final Set<String> closed = new HashSet<>();

    TouchOracle(Timeline time, BiConsumer<String, String> failure, Consumer<Supplier<String>> trace) {
        this.time = time;
        this.failure = failure;
        this.trace = trace;
    }

    // What sidecars send

    /**
     * A request for a hold leaves.
     *
     * @param unwanted why the sidecar itself should not have sent it
     * @param told whether it could know what the engine has
     */
    void sends(String who, VirtualEngine engine, long lastBlock, Optional<String> unwanted, boolean told) {
        trace.accept(() -> who + " touches down to " + lastBlock + " of " + engine.name);
        unwanted.ifPresent(why ->
                failure.accept("a touch is sent that nobody wants", who + " touches block " + lastBlock + ", " + why));
        if (told && engine.isUp() && !engine.resident(lastBlock)) {
            long since = Math.max(
                    removed.getOrDefault(engine, Map.of()).getOrDefault(lastBlock, 0L),
                    cleared.getOrDefault(engine, 0L));
            if (since > 0 && time.now() - since > TOLD_WITHIN) {
                failure.accept(
                        "a touch is sent for a prefix that is gone",
                        who + " touches block " + lastBlock + " of " + engine.name + ", gone since "
                                + since / Timeline.MILLI + " ms");
            }
        }
    }

    void opens(String who, String session) {
        if (closed.contains(session) || owners.putIfAbsent(session, who) != null) {
            failure.accept("a session is used twice", who + " sends " + session);
        }
    }

    void leases(String who, String session) {
        if (!who.equals(owners.computeIfAbsent(session, _ -> who))) {
            failure.accept("somebody else's lease is renewed", who + " renews " + session);
        }
    }

    void closes(String who, String session) {
        // One that was never sent was written down before its sidecar was killed.
        if (!who.equals(owners.getOrDefault(session, who))) {
            failure.accept("somebody else's session is closed", who + " closes " + session);
        }
        closed.add(session);
    }

    // What engines do

    void served(String who, VirtualEngine engine, long[] blocks) {
        trace.accept(() -> engine.name + " protects " + Arrays.toString(blocks) + " for " + who);
        Set<Long> all = touched.computeIfAbsent(new Key(who, engine), _ -> new HashSet<>());
        for (long block : blocks) {
            all.add(block);
        }
        long there = (long) preferred(who, engine).size() * engine.page();
        if (there > StormSidecar.SHARE * engine.settings.capacityTokens()) {
            failure.accept("more is protected than the share", who + " has " + there + " tokens in " + engine.name);
        }
    }

    void removed(VirtualEngine engine, long block) {
        removed.computeIfAbsent(engine, _ -> new HashMap<>()).put(block, time.now());
        touched.forEach((key, blocks) -> {
            if (key.engine() == engine) {
                blocks.remove(block);
            }
        });
    }

    /** The sidecar heard that the only copy it knew of is gone, and of the one that is left no event ever told it. */
    void mistakenForGone(String who, VirtualEngine engine, long block) {
        trace.accept(() -> who + " takes block " + block + " of " + engine.name + " for gone");
        touched.getOrDefault(new Key(who, engine), new HashSet<>()).remove(block);
    }

    /** The cache is empty, and the events say so. */
    void flushed(VirtualEngine engine) {
        cleared.put(engine, time.now());
    }

    /** The cache is empty; of a new life nobody hears before it has stored something. */
    void cleared(VirtualEngine engine) {
        cleared.remove(engine);
        removed.remove(engine);
        touched.keySet().removeIf(key -> key.engine() == engine);
    }

    // What there is

    /** Blocks that the engine protects since a request of this sidecar. */
    Set<Long> preferred(String who, VirtualEngine engine) {
        Set<Long> blocks = new HashSet<>(touched.getOrDefault(new Key(who, engine), Set.of()));
        blocks.retainAll(engine.ofPriority(StormSidecar.PRIORITY));
        return blocks;
    }

    /** Blocks that open sessions of this sidecar refer to, by the session. */
    Map<String, Set<Long>> sessions(String who, VirtualEngine engine) {
        Map<String, Set<Long>> own = engine.ofSessions();
        own.keySet().removeIf(session -> !who.equals(owners.get(session)));
        return own;
    }

    /** Blocks that the engine keeps for this sidecar by sessions or priorities. */
    Set<Long> kept(String who, VirtualEngine engine) {
        Set<Long> blocks = preferred(who, engine);
        sessions(who, engine).values().forEach(blocks::addAll);
        return blocks;
    }
}
