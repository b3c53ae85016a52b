package io.holdfast.storm;

import io.holdfast.rules.engine.RequestOptions;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Holds what sidecars say of holds that are requests against what the engines have. */
final class TouchJudge {
    private final StormVariant variant;
    private final Timeline time;
    private final StormOracle oracle;
    private final Map<VirtualEngine, Traffic> traffic;
    private final Map<StormProcess, VirtualEngine> homes;
    /** How many samples in a row showed that a sidecar counts too little. */
    private final Map<StormProcess, Integer> tooFew = new HashMap<>();

    private boolean exact = true;

    TouchJudge(
            StormVariant variant,
            Timeline time,
            StormOracle oracle,
            Map<VirtualEngine, Traffic> traffic,
            Map<StormProcess, VirtualEngine> homes) {
        this.variant = variant;
        this.time = time;
        this.oracle = oracle;
        this.traffic = traffic;
        this.homes = homes;
    }

    /** Whether all was counted at the end that was there, and no more. */
    boolean exact() {
        return exact;
    }

    /** Blocks that a sidecar has to count, since they are protected and it cannot end that. */
    private Set<Long> counting(StormProcess process, VirtualEngine engine) {
        if (variant.lasts()) {
            return oracle.touches.preferred(process.name, engine);
        }
        Set<Long> leased = new HashSet<>();
        process.sidecar()
                .ifPresent(sidecar -> oracle.touches
                        .sessions(process.name, engine)
                        .forEach((session, blocks) -> {
                            if (sidecar.leased(session)) {
                                leased.addAll(blocks);
                            }
                        }));
        return leased;
    }

    /** From the decision to touch on all of it counts, until the events show that it went; but it is counted once a tick. */
    void countsEnough(StormProcess process) {
        VirtualEngine engine = process.engine();
        boolean tells = homes.get(process) == engine
                && !process.isDry()
                && process.sidecar().filter(StormSidecar::knowsBlocks).isPresent();
        boolean enough = !tells
                || process.sidecar().orElseThrow().countedTokens()
                        >= counting(process, engine).size() * (long) engine.page();
        int times = enough ? 0 : tooFew.merge(process, 1, Integer::sum);
        if (enough) {
            tooFew.remove(process);
        } else if (times > 6) {
            oracle.fail(
                    "less is counted than is protected",
                    process.name + ": " + process.sidecar().orElseThrow().countedTokens() + " counted, "
                            + counting(process, engine).size() * engine.page() + " protected, "
                            + process.sidecar().orElseThrow().describe());
        }
    }

    /** What is held there of the engine's tokens. */
    int heldTokens(VirtualEngine engine) {
        Set<Long> kept = new HashSet<>();
        for (StormProcess process : variant.soft() ? homes.keySet() : Set.<StormProcess>of()) {
            kept.addAll(oracle.touches.kept(process.name, engine));
            if (variant.way == StormSidecar.Way.KEEP_WARM && process.engine() == engine) {
                process.sidecar().stream()
                        .flatMap(sidecar -> sidecar.held().stream())
                        .forEach(path -> {
                            if (Arrays.stream(path).allMatch(engine::resident)) {
                                Arrays.stream(path).forEach(kept::add);
                            }
                        });
            }
        }
        return variant.soft() ? kept.size() * engine.page() : oracle.heldTokens(engine);
    }

    /** With nothing under way any more, what is said to be held is held. */
    void holdOnceMore(boolean holding) {
        time.runUntil(time.now() + 130 * Timeline.SECOND);
        traffic.values().forEach(Traffic::again);
        time.runUntil(time.now() + 5 * Timeline.SECOND);
        for (StormProcess process : holding ? homes.keySet() : Set.<StormProcess>of()) {
            process.sidecar().ifPresent(sidecar -> {
                for (int i = 0; i < 3; i++) {
                    Traffic.Shared prefix = traffic.get(process.engine()).any();
                    sidecar.hold(prefix.blocks(), prefix.tokens(), Duration.ofSeconds(Storm.LONGEST_LEASE));
                }
            });
        }
        time.runUntil(time.now() + 20 * Timeline.SECOND);
        homes.keySet()
                .forEach(process ->
                        process.sidecar().ifPresent(sidecar -> sidecar.held().forEach(path -> honest(process, path))));
    }

    private void honest(StormProcess process, long[] path) {
        VirtualEngine engine = process.engine();
        boolean there = Arrays.stream(path).allMatch(engine::resident);
        boolean kept = variant.way == StormSidecar.Way.KEEP_WARM
                || Arrays.stream(path).allMatch(oracle.touches.kept(process.name, engine)::contains);
        if (!there || !kept) {
            oracle.fail(
                    "said to be held, and not protected",
                    process.name + " on " + engine.name + ", " + (there ? "there" : "gone") + ": "
                            + process.sidecar().map(StormSidecar::describe).orElse(""));
        }
    }

    /** What no call can take back is counted, and of what can be taken back nothing is left. */
    void atRest() {
        if (variant.endsWhenAsked()) {
            traffic.keySet().forEach(engine -> engine.ask(new int[] {1}, RequestOptions.of(1), _ -> {}, () -> {}));
            time.runUntil(time.now() + 5 * Timeline.SECOND);
        }
        for (StormProcess process : homes.keySet()) {
            VirtualEngine home = homes.get(process);
            for (VirtualEngine engine : traffic.keySet()) {
                Map<String, Set<Long>> sessions = oracle.touches.sessions(process.name, engine);
                if (!sessions.isEmpty()) {
                    oracle.fail("leak: a session", process.name + " on " + engine.name + ": " + sessions.keySet());
                }
            }
            long there = (long) oracle.touches.preferred(process.name, home).size() * home.page();
            long counted = process.sidecar().map(StormSidecar::countedTokens).orElse(0L);
            exact &= counted == there;
            String numbers = process.name + ": " + counted + " counted, " + there + " protected, "
                    + process.sidecar()
                            .map(sidecar -> sidecar.view().certainty() + ", " + sidecar.describe())
                            .orElse("");
            oracle.trace(() -> "at the end " + oracle.touches.preferred(process.name, home));
            if (counted < there) {
                oracle.fail("less is counted than is protected", numbers);
            }
            if (!variant.lasts() && counted > 0) {
                oracle.fail("more is counted than there is", numbers);
            }
        }
    }

    /** With an empty cache nothing is left in a ledger. */
    void emptied() {
        traffic.keySet().forEach(engine -> engine.flush(_ -> {}));
        time.runUntil(time.now() + 80 * Timeline.SECOND);
        for (StormProcess process : homes.keySet()) {
            for (VirtualEngine engine : traffic.keySet()) {
                Map<Long, Boolean> open = process.store.open(engine);
                if (!open.isEmpty()) {
                    oracle.fail(
                            "left in the ledger of an empty engine",
                            process.name + " on " + engine.name + ": " + open + ", "
                                    + process.sidecar()
                                            .map(StormSidecar::describe)
                                            .orElse(""));
                }
            }
        }
    }
}
